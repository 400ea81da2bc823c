/* Changes the declaration of an index, except its name: PATCH /indexes/{name}
 * begins a migration, DELETE /indexes/{name}/migration undoes it. Until the
 * migration has ended, reads use the old form of the index. */
#include "indexes/index_handlers.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "indexes/index_wait.h"
#include "indexes/index_find.h"
#include "rest/query_params.h"

struct migrating {
    enum kx_command_kind kind;
    struct kx_buffer name;
    struct kx_value patch;
    struct input_error error; /* set unless `good` */
    bool good;
};

static void read_change(struct request *request, void *arg)
{
    struct migrating *migrating = arg;
    struct input_error *error = &migrating->error;
    migrating->good = query_params_none(request, error) &&
                      request_key_index(request, &migrating->name, error) &&
                      (migrating->kind == KX_UNDO_MIGRATION ||
                       body_merge_patch(request, &migrating->patch, error));
}

/* Commits the command and answers with the index, after its state is stable if
 * the client prefers to wait; *state_out is the state. */
static void change(struct request *request, struct reply *reply,
                   enum kx_command_kind kind, enum kx_index_state *state_out)
{
    struct migrating migrating;
    struct kx_command *command = &request->commit.command;
    migrating.kind = kind;
    migrating.patch = (struct kx_value){.data = {.size = 0}};
    if (!request_work(request, read_change, &migrating))
        return;
    if (!migrating.good) {
        body_refuse_patch(request, reply, &migrating.error);
        return;
    }
    command->kind = kind;
    command->index_name = kx_buffer_slice(&migrating.name);
    command->declaration = migrating.patch.data;
    if (index_commit(request) &&
        index_await(request, reply, command->index_name, state_out))
        answer_json(reply, 200);
}

void index_migrate(struct request *request, struct reply *reply)
{
    enum kx_index_state state = KX_INDEX_READY;
    change(request, reply, KX_MIGRATE_INDEX, &state);
    if (reply->status == 200 && state != KX_INDEX_READY)
        reply->status = 202;
}

void index_undo_migration(struct request *request, struct reply *reply)
{
    enum kx_index_state state = KX_INDEX_READY;
    change(request, reply, KX_UNDO_MIGRATION, &state);
}
