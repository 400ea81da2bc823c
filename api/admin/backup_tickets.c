/* The few tickets are looked at one by one. */
#include "admin/backup_tickets.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

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
                                   const char *token, int64_t now_ms,
                                   struct backup_ticket *ticket_out)
{
    uint8_t random[BACKUP_TICKET_SIZE / 2];
    struct backup_ticket made = {.expires_at_ms = now_ms + BACKUP_TICKET_MS};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return KX_FAILED;
    kx_hex_write(kx_slice(random, sizeof random), made.text);
    snprintf(made.token, sizeof made.token, "%s", token);
    pthread_mutex_lock(&tickets->lock);
    struct backup_ticket *place = free_place(tickets, now_ms);
    if (place != NULL)
        *place = *ticket_out = made;
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
