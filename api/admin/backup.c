/* GET /backup: a backup of the store as it is sent. Only a slice of it is in
 * memory: for a client that reads slowly it takes longer, not more memory. */
#include <talloc.h>

#include "admin/admin_handlers.h"
#include "http/problem.h"
#include "rest/query_params.h"
#include "http/service.h"

struct backing {
    struct stream stream;
    struct kx_backup *backup;
};

static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct backing *backing = stream->state;
    enum kx_status status = kx_backup_next(backing->backup, chunk);
    *flush_out = 0;
    if (status != KX_OK && status != KX_END)
        chunk->failed = true; /* the client must not take it for complete */
    return status == KX_OK;
}

enum progress backup_get(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct kx_fault fault;
    struct query_params query;
    struct backing *backing = talloc_zero(request->memory, struct backing);
    if (backing == NULL) {
        reply->body.failed = true;
        return DONE;
    }
    if (!query_params_read(request->query, 0, request->memory, &query, &error))
        return input_error_reply(request, reply, &error);
    enum kx_status status = kx_backup_begin(request->service->store, backing,
                                            &backing->backup, &fault);
    if (status == KX_ABSENT)
        return problem(request, reply, PROBLEM_NO_BACKUP, "%s", fault.detail);
    if (status == KX_BUSY)
        return problem(request, reply, PROBLEM_OVERLOADED, "%s", fault.detail);
    if (status != KX_OK) {
        reply->body.failed = true;
        return DONE;
    }
    backing->stream = (struct stream){
        .next = next, .request = request, .state = backing, .viewless = true};
    reply->status = 200;
    reply->content_type = "application/zstd";
    reply_header(reply, "Content-Disposition",
                 "attachment; filename=\"backup.tar.zst\"");
    reply_header(reply, "Cache-Control", "no-store");
    reply_headerf(request, reply, "Kindex-Backup-Size", "%llu",
                  (unsigned long long)kx_backup_size(backing->backup));
    reply->stream = &backing->stream;
    return DONE;
}
