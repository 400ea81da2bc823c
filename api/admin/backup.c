/* GET /backup: a backup of the store as it is sent. Only a slice of it is in
 * memory: for a client that reads slowly it takes longer, not more memory. */
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "access/audit.h"
#include "admin/admin_handlers.h"
#include "admin/backup_tickets.h"
#include "http/problem.h"
#include "rest/answer.h"
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

static void send_backup(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct kx_fault fault;
    struct backing *backing = talloc_zero(request->memory, struct backing);
    if (backing == NULL) {
        reply->body.failed = true;
        return;
    }
    enum kx_status status = kx_backup_begin(request->service->store, backing,
                                            &backing->backup, &fault);
    if (status == KX_ABSENT) {
        problem(request, reply, PROBLEM_NO_BACKUP, "%s", fault.detail);
        return;
    }
    if (status == KX_BUSY) {
        problem(request, reply, PROBLEM_OVERLOADED, "%s", fault.detail);
        return;
    }
    if (status != KX_OK) {
        reply->body.failed = true;
        return;
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
}

void backup_get(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    request_apart(request, send_backup, NULL);
}

/* ---- Tickets ------------------------------------------------------------ */

void backup_ticket_create(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct backup_ticket ticket;
    const struct kx_token *token = request->caller.token;
    char end[64];
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    enum kx_status status = backup_tickets_make(request->service->tickets,
                                                token != NULL ? token->id : "",
                                                kx_now_ms(), &ticket);
    if (status == KX_BUSY) {
        problem(request, reply, PROBLEM_OVERLOADED,
                "%d tickets for backups are open; each ends when it is "
                "used, or after a minute.",
                BACKUP_TICKETS_MAX);
        return;
    }
    if (status != KX_OK) {
        problem(request, reply, PROBLEM_INTERNAL,
                "There are no random numbers.");
        return;
    }
    answer_json(reply, 201);
    reply_headerf(request, reply, "Location", "/backup/tickets/%s",
                  ticket.text);
    reply_header(reply, "Cache-Control", "no-store");
    kx_add_text(&reply->body, "{\"address\":\"/backup/tickets/");
    kx_add_text(&reply->body, ticket.text);
    snprintf(end, sizeof end, "\",\"expiresAt\":%lld}",
             (long long)ticket.expires_at_ms);
    kx_add_text(&reply->body, end);
}

/* The request is then one of the client that made the ticket: it ends with that
 * client's token, or, if there were no tokens, with the first one that is made.
 */
static bool take_ticket(struct request *request, const char *token)
{
    struct caller *caller = &request->caller;
    kx_token_release(caller->token);
    caller->ticket = true;
    caller->token = token[0] != '\0'
                        ? kx_token_find(request->service->store, kx_text(token))
                        : NULL;
    return (caller->token != NULL || token[0] == '\0') && access_holds(request);
}

/* What the log says of the request must not have the ticket. */
void backup_by_ticket(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct backup_ticket ticket;
    request->subject = kx_slice(NULL, 0);
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    if (!backup_tickets_take(request->service->tickets, request->argument,
                             kx_now_ms(), &ticket) ||
        !take_ticket(request, ticket.token)) {
        problem(request, reply, PROBLEM_NOT_FOUND,
                "There is no such ticket, or it was used, or has "
                "expired; POST /backup/tickets makes another one.");
        return;
    }
    audit_action(request, 200);
    request_apart(request, send_backup, NULL);
}
