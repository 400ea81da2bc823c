/* A token in memory, and as the row "token/<id>" of TABLE_CATALOG, whose value
 * is JSON. Each token is a separate talloc tree with a reference count; the
 * last release frees it. */
#include "catalog/token.h"

#include <stdlib.h>
#include <talloc.h>

#include "catalog/row_json.h"

struct counted_token {
    struct kx_token token; /* first, so that one pointer is both */
    atomic_uint references;
};

static const char *const SCOPES[] = {"read",  "write", "list",   "watch",
                                     "index", "admin", "monitor"};
enum { SCOPE_COUNT = sizeof SCOPES / sizeof *SCOPES };

const char *kx_scope_name(enum kx_scope scope)
{
    unsigned i = 0;
    while (i < SCOPE_COUNT - 1 && 1u << i != (unsigned)scope)
        i++;
    return SCOPES[i];
}

unsigned kx_scope_find(struct kx_slice name)
{
    for (unsigned i = 0; i < SCOPE_COUNT; i++)
        if (kx_equal(name, kx_text(SCOPES[i])))
            return 1u << i;
    return 0;
}

/* FF after the parts of a prefix is not the tag of a part: it belongs to an
 * escaped zero, so the key has a longer string there. */
bool kx_prefix_covers(struct kx_slice prefix, struct kx_slice start,
                      struct kx_slice end)
{
    if (prefix.size == 0)
        return true;
    if (!kx_starts_with(start, prefix) ||
        (start.size > prefix.size && start.data[prefix.size] == 0xff))
        return false;
    if (end.size == 0)
        return true;
    return kx_starts_with(end, prefix) && end.size > prefix.size &&
           (end.data[prefix.size] != 0xff || end.size == prefix.size + 1);
}

bool kx_token_is_whole(const struct kx_token *token, enum kx_scope scope)
{
    for (size_t i = 0; i < token->grant_count; i++)
        if ((token->grants[i].scopes & scope) != 0 &&
            token->grants[i].prefix.size == 0)
            return true;
    return false;
}

struct kx_token *kx_token_keep(struct kx_token *token)
{
    atomic_fetch_add(&((struct counted_token *)token)->references, 1);
    return token;
}

void kx_token_release(struct kx_token *token)
{
    struct counted_token *counted = (struct counted_token *)token;
    if (counted != NULL && atomic_fetch_sub(&counted->references, 1) == 1)
        talloc_free(counted);
}

static bool copy_grants(struct counted_token *counted,
                        const struct kx_token *token)
{
    struct kx_grant *grants =
        talloc_array(counted, struct kx_grant, token->grant_count);
    bool good = grants != NULL;
    for (size_t i = 0; good && i < token->grant_count; i++) {
        grants[i].scopes = token->grants[i].scopes;
        good =
            kx_slice_copy(counted, token->grants[i].prefix, &grants[i].prefix);
    }
    counted->token.grants = grants;
    counted->token.grant_count = token->grant_count;
    return good;
}

struct kx_token *kx_token_copy(const struct kx_token *token)
{
    struct counted_token *counted = talloc_zero(NULL, struct counted_token);
    if (counted == NULL)
        return NULL;
    memcpy(counted->token.id, token->id, sizeof token->id);
    memcpy(counted->token.digest, token->digest, sizeof token->digest);
    counted->token.fixed = token->fixed;
    counted->token.created_at_ms = token->created_at_ms;
    counted->token.expires_at_ms = token->expires_at_ms;
    counted->token.shared_uses = token->shared_uses;
    counted->references = 1;
    if (kx_slice_copy(counted, token->name, &counted->token.name) &&
        kx_slice_copy(counted, token->issuer, &counted->token.issuer) &&
        copy_grants(counted, token))
        return &counted->token;
    talloc_free(counted);
    return NULL;
}

/* ---- Rows --------------------------------------------------------------- */

static json_t *grants_to_json(const struct kx_token *token)
{
    json_t *list = json_array();
    for (size_t i = 0; i < token->grant_count; i++) {
        const struct kx_grant *grant = &token->grants[i];
        json_t *json = json_pack(
            "{s:I, s:o}", "scopes", (json_int_t)grant->scopes, "prefix",
            row_json_hex(grant->prefix.data, grant->prefix.size));
        if (json_array_append_new(list, json) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *to_json(const struct kx_token *token)
{
    return json_pack("{s:s, s:s%, s:o, s:I, s:I, s:o}", "id", token->id, "name",
                     (const char *)token->name.data, token->name.size, "digest",
                     row_json_hex(token->digest, sizeof token->digest),
                     "createdAt", (json_int_t)token->created_at_ms, "expiresAt",
                     (json_int_t)token->expires_at_ms, "grants",
                     grants_to_json(token));
}

bool token_row(void *mem, const struct kx_token *token,
               enum row_write_type type, struct row_write *write_out)
{
    char *key = talloc_asprintf(mem, "token/%s", token->id);
    char *value = NULL;
    if (type == ROW_PUT) {
        json_t *document = to_json(token);
        char *text =
            document == NULL ? NULL : json_dumps(document, JSON_COMPACT);
        value = text == NULL ? NULL : talloc_strdup(mem, text);
        json_decref(document);
        free(text);
        if (value == NULL)
            return false;
    }
    if (key == NULL)
        return false;
    *write_out =
        (struct row_write){.type = type,
                           .table = TABLE_CATALOG,
                           .key = kx_text(key),
                           .value = kx_text(value == NULL ? "" : value)};
    return true;
}

static enum kx_status read_grant(void *mem, const json_t *json,
                                 struct kx_grant *grant)
{
    const json_t *prefix = json_object_get(json, "prefix");
    uint8_t *bytes = talloc_array(mem, uint8_t, KX_KEY_MAX);
    if (bytes == NULL)
        return KX_NO_MEMORY;
    size_t size = row_json_from_hex(prefix, bytes, KX_KEY_MAX);
    if (!json_is_string(prefix) || size != json_string_length(prefix) / 2)
        return KX_FAILED;
    grant->scopes =
        (unsigned)json_integer_value(json_object_get(json, "scopes"));
    grant->prefix = kx_slice(bytes, size);
    return KX_OK;
}

static enum kx_status read_grants(void *mem, const json_t *list,
                                  struct kx_token *token)
{
    size_t count = json_array_size(list);
    struct kx_grant *grants = talloc_zero_array(mem, struct kx_grant, count);
    enum kx_status status = count > KX_GRANTS_MAX ? KX_FAILED
                            : grants == NULL      ? KX_NO_MEMORY
                                                  : KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++)
        status = read_grant(mem, json_array_get(list, i), &grants[i]);
    token->grants = grants;
    token->grant_count = count;
    return status;
}

static enum kx_status read_document(void *mem, json_t *document,
                                    struct kx_token *token)
{
    const char *id;
    const char *name;
    size_t name_size;
    json_t *digest;
    json_t *grants;
    json_int_t created, expires;
    if (json_unpack(document, "{s:s, s:s%, s:o, s:I, s:I, s:o}", "id", &id,
                    "name", &name, &name_size, "digest", &digest, "createdAt",
                    &created, "expiresAt", &expires, "grants", &grants) != 0 ||
        strlen(id) != KX_TOKEN_ID_SIZE ||
        row_json_from_hex(digest, token->digest, sizeof token->digest) !=
            sizeof token->digest)
        return KX_FAILED;
    memcpy(token->id, id, sizeof token->id);
    token->name = kx_slice(name, name_size);
    token->created_at_ms = created;
    token->expires_at_ms = expires;
    return read_grants(mem, grants, token);
}

enum kx_status token_read(struct kx_slice row, struct kx_token **token_out)
{
    struct kx_token token = {.fixed = false};
    void *mem = talloc_new(NULL);
    json_t *document = row_json_read(row);
    enum kx_status status = KX_FAILED;
    if (mem != NULL && document != NULL)
        status = read_document(mem, document, &token);
    if (mem == NULL || row_json_starved())
        status = KX_NO_MEMORY;
    *token_out = status == KX_OK ? kx_token_copy(&token) : NULL;
    if (status == KX_OK && *token_out == NULL)
        status = KX_NO_MEMORY;
    json_decref(document);
    talloc_free(mem);
    return status;
}
