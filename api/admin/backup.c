/* GET /backup: a backup of the store, made while it is sent. Only a slice of it
 * is in memory, so a slow client does not need more memory. Tickets are
 * addresses for one download. */
#include "admin/backup.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <talloc.h>

#include "access/access.h"
#include "access/audit.h"
#include "admin/admin_handlers.h"
#include "http/problem.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/query_params.h"

/* ---- The table of tickets ----------------------------------------------- */

static bool is_open(const struct backup_ticket *ticket, int64_t now_ms)
{
    return ticket->expires_at_ms > now_ms;
}

static struct backup_ticket *free_place(struct backup_tickets *tickets,
                                        int64_t now_ms)
{
    for (size_t i = 0; i < BACKUP_TICKETS_MAX; i++)
        if (!is_open(&tickets->all[i], now_ms))
            return &tickets->all[i];
    return NULL;
}

enum kx_status backup_tickets_make(struct backup_tickets *tickets,
                                   struct kx_token *token, int64_t now_ms,
                                   struct backup_ticket *ticket_out)
{
    uint8_t random[BACKUP_TICKET_SIZE / 2];
    struct backup_ticket made = {.token = token,
                                 .expires_at_ms = now_ms + BACKUP_TICKET_MS};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return KX_FAILED;
    kx_hex_write(kx_slice(random, sizeof random), made.text);
    pthread_mutex_lock(&tickets->lock);
    struct backup_ticket *place = free_place(tickets, now_ms);
    if (place != NULL) {
        kx_token_release(place->token); /* of a ticket that has expired */
        *place = *ticket_out = made;
        if (token != NULL)
            kx_token_keep(token);
    }
    pthread_mutex_unlock(&tickets->lock);
    return place != NULL ? KX_OK : KX_BUSY;
}

static struct backup_ticket *find(struct backup_tickets *tickets,
                                  struct kx_slice text, int64_t now_ms)
{
    for (size_t i = 0; i < BACKUP_TICKETS_MAX; i++)
        if (is_open(&tickets->all[i], now_ms) &&
            gnutls_memcmp(tickets->all[i].text, text.data, text.size) == 0)
            return &tickets->all[i];
    return NULL;
}

bool backup_tickets_take(struct backup_tickets *tickets, struct kx_slice text,
                         int64_t now_ms, struct backup_ticket *ticket_out)
{
    if (text.size != BACKUP_TICKET_SIZE)
        return false;
    pthread_mutex_lock(&tickets->lock);
    struct backup_ticket *place = find(tickets, text, now_ms);
    if (place != NULL) {
        *ticket_out = *place;
        memset(place, 0, sizeof *place);
    }
    pthread_mutex_unlock(&tickets->lock);
    return place != NULL;
}

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
        chunk->failed = true; /* the client must not think it is complete */
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
    backing->stream = (struct stream){.next = next,
                                      .request = request,
                                      .state = backing,
                                      .needs_no_view = true};
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
    char end[64];
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    enum kx_status status = backup_tickets_make(
        request->service->tickets, request->caller.token, kx_now_ms(), &ticket);
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

/* Gives the request the rights of the client that made the ticket, as long as
 * its token is valid or, without a token, as long as there are no tokens. */
static bool take_ticket(struct request *request, struct kx_token *token)
{
    struct caller *caller = &request->caller;
    kx_token_release(caller->token);
    caller->ticket = true;
    caller->token = token;
    return access_holds(request);
}

/* The log must not contain the ticket. */
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
