/* Pauses, resumes and throttles the background work on an index: build and
 * migration. The setting is stored and stays until it is changed, also for work
 * that begins later. */
#include "indexes/index_handlers.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "indexes/index_wait.h"
#include "indexes/index_find.h"
#include "rest/document.h"
#include "rest/query_params.h"

enum { PER_SECOND_MAX = 1000000000 };

/* Commits the throttle and answers with the index. */
static void commit_throttle(struct request *request, struct reply *reply,
                            const struct kx_pace *pace)
{
    struct kx_buffer name;
    if (!index_only_name(request, reply, &name))
        return;
    request->commit.command.kind = KX_PACE_INDEX;
    request->commit.command.index_name = kx_buffer_slice(&name);
    request->commit.command.pace = *pace;
    enum kx_index_state state;
    if (index_commit(request) &&
        index_await(request, reply, kx_buffer_slice(&name), &state))
        answer_json(reply, 200);
}

void index_pause(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = true, .paused = true};
    commit_throttle(request, reply, &pace);
}

void index_resume(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = true};
    commit_throttle(request, reply, &pace);
}

/* Reads the limit; null is no limit. */
static bool read_per_second(void *target, struct kx_slice value,
                            struct input_error *error)
{
    struct kx_pace *pace = target;
    size_t number = 0;
    if (kx_json_type(value) != KX_JSON_NULL &&
        !document_whole(value, PER_SECOND_MAX, &number, error))
        return false;
    pace->sets_limit = true;
    pace->per_second = (uint32_t)number;
    return true;
}

static const struct member THROTTLE_MEMBERS[] = {
    {"perSecond", read_per_second},
    {NULL, NULL},
};

static bool read_pace(struct request *request, void *arg,
                      struct input_error *error)
{
    struct kx_pace *pace = arg;
    return body_json(request, error) &&
           document_read(request->body, THROTTLE_MEMBERS, pace, error) &&
           (pace->sets_limit ||
            input_error_set(
                error, PROBLEM_BAD_REQUEST,
                "The member perSecond is missing: entries per second, or "
                "null for no limit."));
}

void index_throttle(struct request *request, struct reply *reply)
{
    struct kx_pace pace = {.sets_paused = false};
    if (request_input(request, reply, read_pace, &pace))
        commit_throttle(request, reply, &pace);
}
