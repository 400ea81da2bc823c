/* Another declaration for an index, but for its name: PATCH /indexes/{name}
 * begins the migration, DELETE /indexes/{name}/migration takes it back. The
 * index is read in its old form until the migration has ended. */
#include "indexes/index_handlers.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "indexes/index_wait.h"
#include "indexes/index_find.h"
#include "rest/query_params.h"
#include "rest/request_key.h"

static enum progress begin(struct request *request, struct reply *reply,
                           enum kx_command_kind kind, bool patch)
{
    struct kx_value value = {.data = {.size = 0}};
    struct kx_buffer name;
    struct input_error error;
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &name, &error) ||
        (patch && !body_merge_patch(request, &value, &error)))
        return body_refuse_patch(request, reply, &error);
    request->commit.command.kind = kind;
    request->commit.command.index_name = kx_buffer_slice(&name);
    request->commit.command.declaration = value.data;
    return COMMIT;
}

/* The index as it is now, or once its state has settled. */
static enum progress finish(struct request *request, struct reply *reply,
                            enum kx_index_state *state_out)
{
    struct kx_slice name = request->commit.command.index_name;
    if (request->commit.status == KX_INDEX_ABSENT)
        return index_missing(request, reply, name);
    if (request->commit.status != KX_OK)
        return index_refused(request, reply, name);
    enum progress progress = index_await(request, reply, name, state_out);
    if (progress == DONE && reply->status == 0)
        answer_json(reply, 200);
    return progress;
}

enum progress index_migrate(struct request *request, struct reply *reply)
{
    return begin(request, reply, KX_MIGRATE_INDEX, true);
}

enum progress index_migrate_finish(struct request *request, struct reply *reply)
{
    enum kx_index_state state = KX_INDEX_READY;
    enum progress progress = finish(request, reply, &state);
    if (reply->status == 200 && state != KX_INDEX_READY)
        reply->status = 202;
    return progress;
}

enum progress index_undo_migration(struct request *request, struct reply *reply)
{
    return begin(request, reply, KX_UNDO_MIGRATION, false);
}

enum progress index_undo_migration_finish(struct request *request,
                                          struct reply *reply)
{
    enum kx_index_state state = KX_INDEX_READY;
    return finish(request, reply, &state);
}
