/* Rights on keys. A key under the name of an index belongs to the index. It
 * needs the rights on all entries for which the index is declared, because
 * index entries are made from them. */
#include <talloc.h>

#include "access/access_state.h"
#include "access/audit.h"

/* ---- Refusals: 403 and a line in the audit log -------------------------- */

unsigned access_bit(enum scope scope)
{
    static const unsigned BITS[] = {
        [SCOPE_READ] = KX_MAY_READ,       [SCOPE_LIST] = KX_MAY_LIST,
        [SCOPE_WATCH] = KX_MAY_WATCH,     [SCOPE_WRITE] = KX_MAY_WRITE,
        [SCOPE_MONITOR] = KX_MAY_MONITOR, [SCOPE_INDEX] = KX_MAY_INDEX,
        [SCOPE_TOKENS] = KX_MAY_ADMIN,    [SCOPE_ADMIN] = KX_MAY_ADMIN,
    };
    return BITS[scope];
}

static void refuse(struct request *request, struct reply *reply,
                   enum scope scope, const char *what)
{
    const char *name = kx_scope_name((enum kx_scope)access_bit(scope));
    problem(request, reply, PROBLEM_FORBIDDEN,
            "The token does not have the scope %s for %s.", name, what);
    problem_member_text(reply, "scope", kx_text(name));
    reply_headerf(request, reply, "WWW-Authenticate",
                  "Bearer realm=\"kindex\", error=\"insufficient_scope\", "
                  "scope=\"%s\"",
                  name);
}

bool access_refuse_key(struct request *request, struct reply *reply,
                       enum scope scope, const struct kx_slice *key)
{
    struct kx_buffer json;
    refuse(request, reply, scope,
           key == NULL      ? "any key"
           : key->size == 0 ? "all keys"
                            : "a prefix that covers these keys");
    kx_buffer_init(&json, request->memory);
    if (key != NULL)
        kx_key_to_json(*key, &json);
    if (key != NULL)
        problem_member_json(reply, "prefix", kx_buffer_slice(&json));
    reply->body.failed |= json.failed;
    audit_denial(request, reply->status, key);
    return false;
}

static bool refuse_index(struct request *request, struct reply *reply,
                         enum scope scope, struct kx_slice name)
{
    refuse(request, reply, scope,
           scope == SCOPE_INDEX
               ? "the entries of such an index and for its own name"
               : "the entries of such an index");
    if (kx_utf8_valid(name))
        problem_member_text(reply, "index", name);
    audit_denial(request, reply->status, &name);
    return false;
}

bool access_covers(const struct request *request, enum scope scope,
                   struct kx_slice prefix)
{
    const struct kx_token *token = request->caller.token;
    unsigned bit = access_bit(scope);
    for (size_t i = 0; token != NULL && i < token->grant_count; i++)
        if ((token->grants[i].scopes & bit) != 0 &&
            kx_prefix_covers(token->grants[i].prefix, prefix,
                             kx_slice(NULL, 0)))
            return true;
    return token == NULL;
}

static bool range_covered(const struct request *request, enum scope scope,
                          const struct kx_range *range)
{
    const struct kx_token *token = request->caller.token;
    unsigned bit = access_bit(scope);
    for (size_t i = 0; i < token->grant_count; i++)
        if ((token->grants[i].scopes & bit) != 0 &&
            kx_prefix_covers(token->grants[i].prefix, range->start, range->end))
            return true;
    return false;
}

/* True if the caller has the scope for all keys, so that no key needs a check.
 * Marks the rights as checked. */
static bool is_whole(struct request *request, enum scope scope)
{
    request->caller.asked = true;
    return access_covers(request, scope, kx_slice(NULL, 0));
}

/* True if the grants cover the index's own name. False also if memory ran out.
 */
static bool name_covered(const struct request *request, enum scope scope,
                         struct kx_slice name)
{
    struct kx_buffer key;
    kx_buffer_init(&key, request->memory);
    bool covered = kx_key_add_string(&key, name) == KX_OK && !key.failed &&
                   access_covers(request, scope, kx_buffer_slice(&key));
    kx_buffer_free(&key);
    return covered;
}

bool access_covers_index(const struct request *request, enum scope scope,
                         const struct kx_index_info *index)
{
    return access_covers(request, scope, index->prefix) &&
           (scope != SCOPE_INDEX || name_covered(request, scope, index->name));
}

bool access_counts_declared(const struct request *request,
                            struct kx_slice declaration)
{
    struct kx_declared declared;
    if (access_covers(request, SCOPE_LIST, kx_slice(NULL, 0)))
        return true;
    void *memory = talloc_new(request->memory);
    bool covered = memory != NULL &&
                   kx_declared_read(memory, declaration, &declared) == KX_OK &&
                   access_covers(request, SCOPE_LIST, declared.prefix);
    talloc_free(memory); /* a stream asks again and again */
    return covered;
}

bool access_counts_index(const struct request *request,
                         const struct kx_index_info *index)
{
    return access_covers(request, SCOPE_LIST, index->prefix) &&
           (index->target.size == 0 ||
            access_counts_declared(request, index->target));
}

enum owner { NO_INDEX, COVERED_INDEX, FOREIGN_INDEX };

/* Finds out whether an index has this name and whether the caller's grants
 * cover it. Inside a view. */
static enum owner index_in_view(const struct request *request, enum scope scope,
                                struct kx_slice name)
{
    struct kx_index_info info;
    if (kx_index_find(request->reader, name, &info) != KX_OK)
        return NO_INDEX;
    return access_covers_index(request, scope, &info) ? COVERED_INDEX
                                                      : FOREIGN_INDEX;
}

static enum owner look_at_index(const struct request *request, enum scope scope,
                                struct kx_slice name)
{
    kx_read_begin(request->reader);
    enum owner owner = index_in_view(request, scope, name);
    kx_read_end(request->reader);
    return owner;
}

/* Calls index_in_view for the index whose name is the first part of the key. */
static enum owner owner_of(const struct request *request, enum scope scope,
                           struct kx_slice key)
{
    struct kx_buffer name;
    enum owner owner = NO_INDEX;
    if (key.size == 0)
        return NO_INDEX;
    kx_buffer_init(&name, request->memory);
    kx_key_index_name(kx_slice(key.data, kx_part_size(key)), &name);
    if (name.failed)
        owner = FOREIGN_INDEX;
    else if (name.size > 0)
        owner = look_at_index(request, scope, kx_buffer_slice(&name));
    kx_buffer_free(&name); /* a request may have a million keys */
    return owner;
}

bool access_key_of_index(const struct request *request, struct kx_slice key)
{
    return owner_of(request, SCOPE_WRITE, key) != NO_INDEX;
}

bool access_sees(const struct request *request, enum scope scope,
                 struct kx_slice key)
{
    if (access_covers(request, scope, kx_slice(NULL, 0)))
        return true;
    enum owner owner = owner_of(request, scope, key);
    return owner == COVERED_INDEX ||
           (owner == NO_INDEX && access_covers(request, scope, key));
}

bool access_sees_all(const struct request *request, enum scope scope,
                     const struct kx_slice *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!access_sees(request, scope, keys[i]))
            return false;
    return true;
}

bool access_key(struct request *request, struct reply *reply, enum scope scope,
                struct kx_slice key)
{
    return is_whole(request, scope) || access_sees(request, scope, key) ||
           access_refuse_key(request, reply, scope, &key);
}

bool access_prefix(struct request *request, struct reply *reply,
                   enum scope scope, struct kx_slice prefix)
{
    return is_whole(request, scope) || access_covers(request, scope, prefix) ||
           access_refuse_key(request, reply, scope, &prefix);
}

bool access_keys(struct request *request, struct reply *reply, enum scope scope,
                 const struct kx_slice *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!access_key(request, reply, scope, keys[i]))
            return false;
    return true;
}

/* The parts that all keys of a range have in common. */
static struct kx_slice common_parts(const struct kx_range *range)
{
    struct kx_slice common = kx_slice(range->start.data, 0);
    for (;;) {
        struct kx_slice rest = kx_slice(range->start.data + common.size,
                                        range->start.size - common.size);
        size_t size = rest.size == 0 ? 0 : kx_part_size(rest);
        struct kx_slice longer =
            kx_slice(range->start.data, common.size + size);
        if (size == 0 || !kx_prefix_covers(longer, range->start, range->end))
            return common;
        common = longer;
    }
}

bool access_spans(const struct request *request, enum scope scope,
                  const struct kx_range *range)
{
    if (access_covers(request, scope, kx_slice(NULL, 0)))
        return true;
    enum owner owner = owner_of(request, scope, common_parts(range));
    return range->end.size > 0 &&
           (owner == COVERED_INDEX ||
            (owner == NO_INDEX && range_covered(request, scope, range)));
}

bool access_range(struct request *request, struct reply *reply,
                  enum scope scope, const struct kx_range *range)
{
    if (is_whole(request, scope) || access_spans(request, scope, range))
        return true;
    struct kx_slice common = common_parts(range);
    return access_refuse_key(request, reply, scope, &common);
}

/* A missing index is refused like an index of other callers. */
static bool index_covered(const struct request *request, enum scope scope,
                          struct kx_slice name)
{
    return look_at_index(request, scope, name) == COVERED_INDEX;
}

bool access_index(struct request *request, struct reply *reply,
                  enum scope scope, struct kx_slice name)
{
    return is_whole(request, scope) || index_covered(request, scope, name) ||
           refuse_index(request, reply, scope, name);
}

/* A rule that the caller may not see, and one that does not exist, are refused
 * alike. */
bool access_rule(struct request *request, struct reply *reply, enum scope scope,
                 struct kx_slice name)
{
    struct kx_rule_info info;
    if (is_whole(request, scope))
        return true;
    kx_read_begin(request->reader);
    bool covered = kx_rule_find(request->reader, name, &info) == KX_OK &&
                   access_covers(request, scope, info.prefix);
    kx_read_end(request->reader);
    if (covered)
        return true;
    refuse(request, reply, scope, "the entries of such a rule");
    if (kx_utf8_valid(name))
        problem_member_text(reply, "rule", name);
    audit_denial(request, reply->status, &name);
    return false;
}

bool access_counts(struct request *request, struct reply *reply,
                   struct kx_slice name)
{
    struct kx_index_info info;
    if (is_whole(request, SCOPE_LIST))
        return true;
    kx_read_begin(request->reader);
    bool counted = kx_index_find(request->reader, name, &info) == KX_OK &&
                   access_counts_index(request, &info);
    kx_read_end(request->reader);
    return counted || refuse_index(request, reply, SCOPE_LIST, name);
}

bool access_sees_index(const struct request *request, enum scope scope,
                       struct kx_slice name)
{
    return access_covers(request, scope, kx_slice(NULL, 0)) ||
           index_covered(request, scope, name);
}

bool access_lists_index(const struct request *request, struct kx_slice name)
{
    return access_covers(request, SCOPE_LIST, kx_slice(NULL, 0)) ||
           index_in_view(request, SCOPE_LIST, name) == COVERED_INDEX;
}

/* Inserts a prefix among others in key order. If one covers another, keeps only
 * the shorter. */
static size_t insert_prefix(struct kx_slice *prefixes, size_t count,
                            struct kx_slice prefix)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kx_prefix_covers(prefixes[i], prefix, kx_slice(NULL, 0)))
            return count;
        if (!kx_prefix_covers(prefix, prefixes[i], kx_slice(NULL, 0)))
            prefixes[kept++] = prefixes[i];
    }
    size_t at = kept;
    for (; at > 0 && kx_compare(prefixes[at - 1], prefix) > 0; at--)
        prefixes[at] = prefixes[at - 1];
    prefixes[at] = prefix;
    return kept + 1;
}

size_t access_below(const struct request *request, enum scope scope,
                    struct kx_slice prefix,
                    struct kx_slice prefixes_out[KX_GRANTS_MAX])
{
    const struct kx_token *token = request->caller.token;
    unsigned bit = access_bit(scope);
    size_t count = 0;
    for (size_t i = 0; token != NULL && i < token->grant_count; i++) {
        const struct kx_grant *grant = &token->grants[i];
        if ((grant->scopes & bit) != 0 && grant->prefix.size > prefix.size &&
            kx_prefix_covers(prefix, grant->prefix, kx_slice(NULL, 0)))
            count = insert_prefix(prefixes_out, count, grant->prefix);
    }
    return count;
}
