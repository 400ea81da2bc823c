/* Tickets: addresses of a backup that are good once, for downloads that cannot
 * carry a header, such as those of a browser. They are kept in memory, and hold
 * only as long as the access token of the client that asked for them. */
#ifndef API_BACKUP_TICKETS_H
#define API_BACKUP_TICKETS_H

#include <pthread.h>

#include "kindex.h"

enum {
    BACKUP_TICKETS_MAX = 16,  /* that are open at a time */
    BACKUP_TICKET_MS = 60000, /* until one ends that is not used */
    BACKUP_TICKET_SIZE = 32   /* hexadecimal digits of random bytes */
};

struct backup_ticket {
    char text[BACKUP_TICKET_SIZE + 1];
    char token[KX_TOKEN_ID_SIZE + 1]; /* "": none was needed */
    int64_t expires_at_ms;            /* 0: this place is free */
};

/* Made zero, with the lock initialised. */
struct backup_tickets {
    pthread_mutex_t lock; /* guards the tickets */
    struct backup_ticket all[BACKUP_TICKETS_MAX];
};

/* Makes a ticket for the holder of a token ("": without one). KX_OK; KX_BUSY:
 * too many are open; KX_FAILED: there are no random numbers. Any thread. */
enum kx_status backup_tickets_make(struct backup_tickets *tickets,
                                   const char *token, int64_t now_ms,
                                   struct backup_ticket *ticket_out);

/* Takes a ticket, which is not there then. False: it never was, was used or has
 * expired. Any thread. */
bool backup_tickets_take(struct backup_tickets *tickets, struct kx_slice text,
                         int64_t now_ms, struct backup_ticket *ticket_out);

#endif
