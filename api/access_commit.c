/* Rights on what a commit is about. All of it is looked at before the writer
 * gets the commit, so that nothing in it can tell about keys that its sender
 * may not see. */
#include <talloc.h>

#include "access_state.h"

static bool may_check(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    size_t count = request->caller.own_checks ? 0 : commit->check_count;
    for (size_t i = 0; i < count; i++)
        if (!access_key(request, reply, SCOPE_READ, commit->checks[i].key))
            return false;
    return true;
}

static bool may_write(struct request *request, struct reply *reply,
                      const struct kx_mutation *mutation)
{
    struct kx_range range = {.start = mutation->key, .end = mutation->end};
    return mutation->type == KX_DELETE_RANGE
               ? access_range(request, reply, SCOPE_WRITE, &range)
               : access_key(request, reply, SCOPE_WRITE, mutation->key);
}

/* What is allowed only because the key is an index's must not be carried out
 * behind the drop of that index. */
static bool may_mutate(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    if (access_covers(request, SCOPE_WRITE, kx_slice(NULL, 0)))
        return true;
    struct kx_slice *keys =
        talloc_array(request->memory, struct kx_slice, commit->mutation_count);
    if (keys == NULL) {
        reply->body.failed = true;
        return false;
    }
    commit->index_keys = keys;
    commit->index_key_count = 0;
    for (size_t i = 0; i < commit->mutation_count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        if (!may_write(request, reply, mutation))
            return false;
        if (!access_covers(request, SCOPE_WRITE, mutation->key))
            keys[commit->index_key_count++] = mutation->key;
    }
    return true;
}

/* Adopting removes entries, and shows keys of them and of those that it adds,
 * in which there are values. */
static bool may_adopt(struct request *request, struct reply *reply,
                      const struct kx_declared *declared)
{
    return access_prefix(request, reply, SCOPE_WRITE, declared->name_key) &&
           access_prefix(request, reply, SCOPE_LIST, declared->name_key) &&
           access_prefix(request, reply, SCOPE_LIST, declared->prefix);
}

/* A document that is no declaration is the core's to refuse, and it does so
 * before it looks at anything. Of an index that is there and not the caller's
 * nothing is said. */
static bool may_declare(struct request *request, struct reply *reply)
{
    struct kx_declared declared;
    if (kx_declared_read(request->memory, request->commit.declaration,
                         &declared) != KX_OK)
        return true;
    if (!access_prefix(request, reply, SCOPE_INDEX, declared.prefix))
        return false;
    if (!access_covers(request, SCOPE_INDEX, declared.name_key) ||
        !access_sees(request, SCOPE_INDEX, declared.name_key))
        return access_refuse_key(request, reply, SCOPE_INDEX,
                                 &declared.name_key);
    return !declared.adopts || may_adopt(request, reply, &declared);
}

bool access_commit(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    if (request->caller.token == NULL)
        return true;
    request->caller.asked = true;
    switch (commit->kind) {
    case KX_WRITE:
        return may_check(request, reply) && may_mutate(request, reply);
    case KX_DECLARE_INDEX:
        return may_declare(request, reply);
    case KX_DROP_INDEX:
    case KX_MIGRATE_INDEX:
    case KX_UNDO_MIGRATION:
    case KX_PACE_INDEX:
    case KX_VERIFY_INDEX:
        return access_index(request, reply, SCOPE_INDEX, commit->index_name);
    case KX_ADD_TOKEN:
    case KX_REVOKE_TOKEN:
        return true; /* tokens.c has asked */
    }
    return access_key(request, reply, SCOPE_ADMIN, kx_slice(NULL, 0));
}
