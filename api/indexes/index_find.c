/* Finds an index by the name in the path; replies for an absent index and for
 * refused commands. */
#include "indexes/index_find.h"

#include "access/access.h"
#include "rest/query_params.h"
#include "rest/refusal.h"
#include "rest/indexjson.h"

bool index_only_name(struct request *request, struct reply *reply,
                     struct kx_buffer *name_out)
{
    struct input_error error;
    if (query_params_none(request, &error) &&
        request_key_index(request, name_out, &error))
        return true;
    input_error_reply(request, reply, &error);
    return false;
}

/* The name is a member only if it is UTF-8, as JSON requires. */
void index_missing(struct request *request, struct reply *reply,
                   struct kx_slice name)
{
    problem(
        request, reply, PROBLEM_INDEX_NOT_FOUND, "There is no index %.*s.",
        (int)(name.size < KX_INDEX_NAME_MAX ? name.size : KX_INDEX_NAME_MAX),
        (const char *)name.data);
    if (kx_utf8_valid(name))
        problem_member_text(reply, "index", name);
    refuse_near_index(request, reply, name);
}

void index_refused(struct request *request, struct reply *reply,
                   struct kx_slice name)
{
    enum kx_status status = request->commit.status;
    refuse_commit(request, reply, NULL);
    if (status == KX_INDEX_EXISTS || status == KX_INDEX_NAME_USED ||
        status == KX_INDEX_BUSY || status == KX_NO_MIGRATION ||
        status == KX_INDEX_NOT_READY)
        problem_member_text(reply, "index", name);
}

static void refuse(struct request *request, struct reply *reply, void *arg)
{
    struct kx_slice name = request->commit.command.index_name;
    (void)arg;
    if (request->commit.status == KX_INDEX_ABSENT)
        index_missing(request, reply, name);
    else
        index_refused(request, reply, name);
}

bool index_commit(struct request *request)
{
    if (!request_commit(request))
        return false;
    if (request->commit.status == KX_OK)
        return true;
    request_read(request, refuse, NULL);
    return false;
}

bool index_find(const struct request *request, struct kx_slice name,
                struct kx_index_info *info_out)
{
    return kx_index_find(request->reader, name, info_out) == KX_OK &&
           access_covers_index(request, request->route->scope, info_out);
}

bool index_append(struct request *request, struct reply *reply,
                  struct kx_slice name, enum kx_index_state *state_out)
{
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, name, &info);
    if (found && state_out != NULL) {
        *state_out = info.state;
        indexjson_write(&info, access_counts_index(request, &info),
                        &reply->body);
    } else if (found) {
        indexjson_write_used(&info, access_counts_index(request, &info),
                             request->reader, &reply->body);
    }
    reply->flush = kx_read_end(request->reader);
    return found;
}
