/* Pausing, resuming and throttling the background work on an index: its build,
 * its migration. The setting is stored and holds until it is changed, also for
 * work that begins later. */
#include "indexes/index_handlers.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "indexes/index_wait.h"
#include "indexes/index_find.h"
#include "rest/member_table.h"
#include "rest/query_params.h"
#include "rest/request_key.h"

enum { PER_SECOND_MAX = 1000000000 };

static enum progress commit_pace(struct request *request, struct reply *reply,
                                 const struct kx_pace *pace)
{
    struct kx_buffer name;
    struct input_error error;
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &name, &error))
        return input_error_reply(request, reply, &error);
    request->commit.command.kind = KX_PACE_INDEX;
    request->commit.command.index_name = kx_buffer_slice(&name);
    request->commit.command.pace = *pace;
    return COMMIT;
}

enum progress index_pause(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = true, .paused = true};
    return commit_pace(request, reply, &pace);
}

enum progress index_resume(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = true};
    return commit_pace(request, reply, &pace);
}

/* null is no limit. */
static bool read_per_second(void *target, struct kx_slice value,
                            struct input_error *error)
{
    struct kx_pace *pace = target;
    size_t number = 0;
    if (kx_json_type(value) != KX_JSON_NULL &&
        !member_table_whole(value, PER_SECOND_MAX, &number, error))
        return false;
    pace->sets_limit = true;
    pace->per_second = (uint32_t)number;
    return true;
}

static const struct member THROTTLE_MEMBERS[] = {
    {"perSecond", read_per_second},
    {NULL, NULL},
};

enum progress index_throttle(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = false};
    struct input_error error;
    if (!body_json(request, &error) ||
        !member_table_read(request->body, THROTTLE_MEMBERS, &pace, &error))
        return input_error_reply(request, reply, &error);
    if (!pace.sets_limit) {
        input_error_set(
            &error, PROBLEM_BAD_REQUEST,
            "The member perSecond is missing: entries per second, or "
            "null for no limit.");
        return input_error_reply(request, reply, &error);
    }
    return commit_pace(request, reply, &pace);
}

enum progress index_pace_finish(struct request *request, struct reply *reply)
{
    struct kx_slice name = request->commit.command.index_name;
    enum kx_index_state state;
    if (request->commit.status == KX_INDEX_ABSENT)
        return index_missing(request, reply, name);
    if (request->commit.status != KX_OK)
        return index_refused(request, reply, name);
    enum progress progress = index_await(request, reply, name, &state);
    if (progress == DONE && reply->status == 0)
        answer_json(reply, 200);
    return progress;
}
