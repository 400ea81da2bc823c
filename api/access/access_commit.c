/* Rights on the keys of a commit. All are checked before the writer gets the
 * commit, so that its result reveals nothing about keys that the caller must
 * not see. */
#include <talloc.h>

#include "access/access_state.h"

/* All entries of an index lie under the prefix for which it is declared. The
 * index may be declared for a different prefix before or after the commit is
 * planned. */
static bool claim_index(struct request *request, const struct kx_by **by)
{
    struct kx_index_info info;
    struct kx_buffer prefix;
    struct kx_by *claim =
        talloc_memdup(request->commit.memory, *by, sizeof **by);
    kx_buffer_init(&prefix, request->commit.memory);
    if (claim == NULL)
        return false;
    kx_read_begin(request->reader);
    if (kx_index_find(request->reader, claim->index, &info) == KX_OK)
        kx_add_slice(&prefix, info.prefix);
    kx_read_end(request->reader);
    claim->claims = true;
    claim->prefix = kx_buffer_slice(&prefix);
    *by = claim;
    return !prefix.failed;
}

static bool covers_all(const struct request *request, const enum scope *scopes,
                       size_t count)
{
    size_t i = 0;
    while (i < count && access_covers(request, scopes[i], kx_slice(NULL, 0)))
        i++;
    return i == count;
}

/* A caller with the rights on all keys needs no check of the index, because a
 * view may not be available. */
static bool may_find(struct request *request, struct reply *reply,
                     const enum scope *scopes, size_t count,
                     const struct kx_by **by)
{
    if (covers_all(request, scopes, count))
        return true;
    if (!claim_index(request, by)) {
        reply->body.failed = true;
        return false;
    }
    size_t i = 0;
    while (i < count && access_index(request, reply, scopes[i], (*by)->index))
        i++;
    return i == count;
}

/* A check of a range reveals as much as a list of the range would. */
static bool may_check_one(struct request *request, struct reply *reply,
                          struct kx_check *check)
{
    static const enum scope READS[] = {SCOPE_READ};
    if (check->by != NULL)
        return may_find(request, reply, READS, 1, &check->by);
    struct kx_range range = {.start = check->start, .end = check->end};
    return kx_check_of_range(check)
               ? access_range(request, reply, SCOPE_LIST, &range)
               : access_key(request, reply, SCOPE_READ, check->key);
}

static bool may_check(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    size_t count = request->caller.own_checks ? 0 : commit->check_count;
    for (size_t i = 0; i < count; i++)
        if (!may_check_one(request, reply, &commit->checks[i]))
            return false;
    return true;
}

/* Changing a range needs the right to list as well, because the answer tells
 * how many entries there were and whether there are more. A patch and a claim
 * also read them. */
static bool may_change_range(struct request *request, struct reply *reply,
                             struct kx_mutation *mutation)
{
    static const enum scope CHANGES[] = {SCOPE_WRITE, SCOPE_LIST, SCOPE_READ};
    size_t count = mutation->type == KX_DELETE_RANGE ? 2 : 3;
    struct kx_range range = {.start = mutation->key, .end = mutation->end};
    size_t i = 0;
    if (mutation->by != NULL)
        return may_find(request, reply, CHANGES, count, &mutation->by);
    while (i < count && access_range(request, reply, CHANGES[i], &range))
        i++;
    return i == count;
}

/* True if the result of the mutation, or the value that it stores, depends on
 * stored entries. A receipt tells nothing. A key
 * of an index accepts only the value that the index holds, and a dry run only
 * reads. */
static bool reads_stored(const struct kx_commit *commit,
                         const struct kx_mutation *mutation, bool of_index)
{
    return commit->dry || of_index || mutation->returns != KX_RETURN_NOTHING ||
           (mutation->type != KX_SET && mutation->type != KX_DELETE &&
            mutation->job == NULL);
}

static const enum scope BOTH[] = {SCOPE_WRITE, SCOPE_READ};

static bool may_mutate_key(struct request *request, struct reply *reply,
                           const struct kx_mutation *mutation,
                           struct kx_slice key, bool of_index)
{
    return access_key(request, reply, SCOPE_WRITE, key) &&
           (!reads_stored(&request->commit, mutation, of_index) ||
            access_key(request, reply, SCOPE_READ, key));
}

/* Returns the mutation's key or, if it has a value in place of a key, the key
 * of the entry to create. */
static struct kx_slice named_key(const struct kx_mutation *mutation)
{
    return mutation->by != NULL ? mutation->new_key : mutation->key;
}

/* Checks one mutation; reply gets the first refusal. */
static bool may_mutate_one(struct request *request, struct reply *reply,
                           struct kx_mutation *mutation)
{
    struct kx_slice key = named_key(mutation);
    return (mutation->by == NULL ||
            may_find(request, reply, BOTH, 2, &mutation->by)) &&
           (key.size == 0 || may_mutate_key(request, reply, mutation, key,
                                            access_key_of_index(request, key)));
}

/* Checks one mutation as may_mutate_one does, without a reply. */
static bool sees_mutation(struct request *request, struct kx_mutation *mutation,
                          struct kx_claim *claims)
{
    struct kx_commit *commit = &request->commit;
    struct kx_slice key = named_key(mutation);
    if (mutation->by != NULL &&
        (!claim_index(request, &mutation->by) ||
         !access_sees_index(request, SCOPE_WRITE, mutation->by->index) ||
         !access_sees_index(request, SCOPE_READ, mutation->by->index)))
        return false;
    if (key.size == 0)
        return true;
    bool of_index = access_key_of_index(request, key);
    claims[commit->claim_count++] = (struct kx_claim){key, of_index};
    return access_sees(request, SCOPE_WRITE, key) &&
           (!reads_stored(commit, mutation, of_index) ||
            access_sees(request, SCOPE_READ, key));
}

size_t access_mutations(struct request *request)
{
    struct kx_commit *commit = &request->commit;
    size_t count = 0;
    struct kx_claim *claims =
        talloc_array(commit->memory, struct kx_claim, commit->mutation_count);
    commit->claims = claims;
    commit->claim_count = 0;
    while (claims != NULL && count < commit->mutation_count &&
           sees_mutation(request, &commit->mutations[count], claims))
        count++;
    return request->caller.cleared = count;
}

/* If memory for a claim runs out, the request fails without a refusal. */
static bool may_mutate_keys(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    size_t count = request->caller.cleared;
    if (count < commit->mutation_count)
        count = access_mutations(request);
    request->caller.cleared = 0;
    if (count >= commit->mutation_count)
        return true;
    reply->body.failed |=
        may_mutate_one(request, reply, &commit->mutations[count]);
    return false;
}

/* A range is the only mutation of its commit. */
static bool may_mutate(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    struct kx_slice all = kx_slice(NULL, 0);
    if (commit->mutation_count > 0 && kx_mutates_range(&commit->mutations[0]))
        return may_change_range(request, reply, &commit->mutations[0]);
    return (access_covers(request, SCOPE_WRITE, all) &&
            access_covers(request, SCOPE_READ, all)) ||
           may_mutate_keys(request, reply);
}

/* Adopting removes entries. Its result shows keys of removed and added entries,
 * and these keys contain values. */
static bool may_adopt(struct request *request, struct reply *reply,
                      const struct kx_declared *declared)
{
    return access_prefix(request, reply, SCOPE_WRITE, declared->name_key) &&
           access_prefix(request, reply, SCOPE_LIST, declared->name_key) &&
           access_prefix(request, reply, SCOPE_LIST, declared->prefix);
}

/* A queue moves its dead jobs to another prefix. */
static bool may_bury(struct request *request, struct reply *reply,
                     const struct kx_declared *declared)
{
    return declared->dead.size == 0 ||
           access_prefix(request, reply, SCOPE_WRITE, declared->dead);
}

/* An invalid declaration is left to the core, which refuses it before it reads
 * anything. The refusal does not tell whether an index exists that the caller
 * may not see. */
static bool may_declare(struct request *request, struct reply *reply,
                        struct kx_slice declaration)
{
    struct kx_declared declared;
    if (kx_declared_read(request->memory, declaration, &declared) != KX_OK)
        return true;
    if (!access_prefix(request, reply, SCOPE_INDEX, declared.prefix))
        return false;
    if (!access_covers(request, SCOPE_INDEX, declared.name_key) ||
        !access_sees(request, SCOPE_INDEX, declared.name_key))
        return access_refuse_key(request, reply, SCOPE_INDEX,
                                 &declared.name_key);
    return may_bury(request, reply, &declared) &&
           (!declared.adopts || may_adopt(request, reply, &declared));
}

/* Reads the declaration that the index would have. False if it would have none;
 * the core then reports why. */
static bool read_patched(struct request *request, struct kx_declared *out)
{
    struct kx_index_info info;
    struct kx_buffer text;
    struct kx_fault fault;
    const struct kx_commit *commit = &request->commit;
    if (kx_json_check(commit->command.declaration, &fault) != KX_OK)
        return false;
    kx_buffer_init(&text, commit->memory);
    kx_read_begin(request->reader);
    if (kx_index_find(request->reader, commit->command.index_name, &info) ==
        KX_OK)
        kx_json_merge(info.declaration, commit->command.declaration, &text);
    kx_read_end(request->reader);
    return text.size != 0 && !text.failed &&
           kx_declared_read(commit->memory, kx_buffer_slice(&text), out) ==
               KX_OK;
}

/* A caller with this scope on all keys is not checked against a single index,
 * because that would need a view. */
static const enum scope INDEXES[] = {SCOPE_INDEX};

/* A migration can give an index another prefix, and the index then shows the
 * entries under that prefix, so check both. */
static bool may_migrate(struct request *request, struct reply *reply)
{
    struct kx_declared declared;
    struct kx_slice name = request->commit.command.index_name;
    return access_index(request, reply, SCOPE_INDEX, name) &&
           (covers_all(request, INDEXES, 1) ||
            !read_patched(request, &declared) ||
            (access_prefix(request, reply, SCOPE_INDEX, declared.prefix) &&
             may_bury(request, reply, &declared)));
}

/* An index of the set that is there already may have another prefix. */
static bool may_replace(struct request *request, struct reply *reply,
                        struct kx_slice declaration)
{
    struct kx_index_info info;
    struct kx_declared declared;
    struct kx_key_reader reader;
    struct kx_part name;
    if (covers_all(request, INDEXES, 1) ||
        kx_declared_read(request->memory, declaration, &declared) != KX_OK)
        return true;
    kx_key_read(&reader, declared.name_key);
    if (kx_key_next(&reader, &name) != KX_OK)
        return true;
    kx_read_begin(request->reader);
    bool there = kx_index_find(request->reader, name.bytes, &info) == KX_OK;
    kx_read_end(request->reader);
    return !there || access_index(request, reply, SCOPE_INDEX, name.bytes);
}

/* Sets the names of the indexes that the caller could drop, if not all. */
static bool find_prunable(struct request *request, struct kx_index_set *set)
{
    if (covers_all(request, INDEXES, 1))
        return true;
    struct kx_index_info info;
    bool good = true;
    struct kx_slice *names =
        talloc_array(request->commit.memory, struct kx_slice, KX_INDEXES_MAX);
    set->prunable = names;
    set->prunable_count = 0;
    kx_read_begin(request->reader);
    for (size_t n = 0; names != NULL && n < KX_INDEXES_MAX &&
                       kx_index_at(request->reader, n, &info) == KX_OK;
         n++) {
        if (!access_covers_index(request, SCOPE_INDEX, &info))
            continue;
        struct kx_slice *name = &names[set->prunable_count++];
        good = kx_slice_copy(names, info.name, name) && good;
    }
    kx_read_end(request->reader);
    return good && names != NULL;
}

static bool may_declare_set(struct request *request, struct reply *reply,
                            struct kx_index_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (!may_declare(request, reply, set->declarations[i]) ||
            !may_replace(request, reply, set->declarations[i]))
            return false;
    if (!set->prune || find_prunable(request, set))
        return true;
    reply->body.failed = true;
    return false;
}

static const enum scope RULES[] = {SCOPE_INDEX, SCOPE_LIST, SCOPE_READ,
                                   SCOPE_WRITE};

/* Returns whether there is a rule of the name of the command. */
static bool is_rule(struct request *request)
{
    struct kx_rule_info info;
    kx_read_begin(request->reader);
    bool found =
        kx_rule_find(request->reader, request->commit.command.index_name,
                     &info) == KX_OK;
    kx_read_end(request->reader);
    return found;
}

/* Checks the rights on the present rule of the name of the command. */
static bool may_change_rule(struct request *request, struct reply *reply)
{
    struct kx_slice name = request->commit.command.index_name;
    return access_rule(request, reply, SCOPE_INDEX, name) &&
           access_rule(request, reply, SCOPE_LIST, name);
}

/* Checks the rights that references need. A refused reference reveals that its
 * target does not exist, so the caller needs `read` for the targets. If
 * deleting a target changes the referring entries, every such deletion writes
 * under the rule's prefix, so the caller needs `write` for the prefix. */
static bool may_refer(struct request *request, struct reply *reply,
                      const struct kx_rule *rule)
{
    struct kx_slice to;
    bool changes = false;
    for (size_t n = 0; kx_rule_reference(rule, n, &to, &changes); n++)
        if (!access_prefix(request, reply, SCOPE_READ, to) ||
            (changes &&
             !access_prefix(request, reply, SCOPE_WRITE, kx_rule_prefix(rule))))
            return false;
    return true;
}

/* The violations of a rule show which entries are under its prefix. An invalid
 * declaration is left to the core, which refuses it. */
static bool may_declare_rule(struct request *request, struct reply *reply)
{
    struct kx_rule *rule;
    if (covers_all(request, RULES, sizeof RULES / sizeof *RULES) ||
        kx_rule_read(request->commit.memory,
                     request->commit.command.declaration, &rule, NULL) != KX_OK)
        return true;
    struct kx_slice prefix = kx_rule_prefix(rule);
    return access_prefix(request, reply, SCOPE_INDEX, prefix) &&
           access_prefix(request, reply, SCOPE_LIST, prefix) &&
           may_refer(request, reply, rule) &&
           (!is_rule(request) || may_change_rule(request, reply));
}

bool access_commit(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    if (request->caller.token == NULL)
        return true;
    request->caller.asked = true;
    switch (commit->command.kind) {
    case KX_WRITE:
        return may_check(request, reply) && may_mutate(request, reply);
    case KX_DECLARE_INDEX:
        return may_declare(request, reply, commit->command.declaration);
    case KX_DECLARE_INDEXES:
        return may_declare_set(request, reply, commit->command.set);
    case KX_MIGRATE_INDEX:
        return may_migrate(request, reply);
    case KX_DROP_INDEX:
    case KX_UNDO_MIGRATION:
    case KX_PACE_INDEX:
        return access_index(request, reply, SCOPE_INDEX,
                            commit->command.index_name);
    case KX_VERIFY_INDEX: /* the report has counts and keys */
        return access_index(request, reply, SCOPE_INDEX,
                            commit->command.index_name) &&
               access_counts(request, reply, commit->command.index_name);
    case KX_DECLARE_RULE:
        return may_declare_rule(request, reply);
    case KX_DROP_RULE:
        return may_change_rule(request, reply);
    case KX_ADD_TOKEN:
    case KX_REVOKE_TOKEN:
        return true; /* checked in tokens.c */
    }
    return access_key(request, reply, SCOPE_ADMIN, kx_slice(NULL, 0));
}
