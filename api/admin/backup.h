/* Tickets: addresses for one download of a backup, for clients that cannot send
 * a header, such as a link in a browser. They are kept in memory. A ticket has
 * the rights of the access token that made it, as long as this token is valid.
 */
#ifndef API_BACKUP_H
#define API_BACKUP_H

#include <pthread.h>

#include "kindex.h"

enum {
    BACKUP_TICKETS_MAX = 16,  /* unused tickets */
    BACKUP_TICKET_MS = 60000, /* until an unused ticket expires */
    BACKUP_TICKET_SIZE = 32   /* hexadecimal digits of random bytes */
};

struct backup_ticket {
    char text[BACKUP_TICKET_SIZE + 1];
    struct kx_token *token; /* a reference; NULL: none was needed */
    int64_t expires_at_ms;  /* 0: this place is free */
};

/* Zeroed, with the lock initialized. */
struct backup_tickets {
    pthread_mutex_t lock; /* guards the tickets */
    struct backup_ticket all[BACKUP_TICKETS_MAX];
};

/* Makes a ticket for the holder of a token (NULL: no token), to which the table
 * adds a reference; that in ticket_out is not the caller's. Returns KX_OK,
 * KX_BUSY if there are too many unused tickets, or KX_FAILED if the system has
 * no random numbers. Any thread. */
enum kx_status backup_tickets_make(struct backup_tickets *tickets,
                                   struct kx_token *token, int64_t now_ms,
                                   struct backup_ticket *ticket_out);

/* Uses up a ticket; the caller releases its token. Returns false if the ticket
 * never existed, was used or has expired. Any thread. */
bool backup_tickets_take(struct backup_tickets *tickets, struct kx_slice text,
                         int64_t now_ms, struct backup_ticket *ticket_out);

#endif
