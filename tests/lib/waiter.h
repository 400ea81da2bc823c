/* A watching client: a watch, its ticket, and whether the ticket was answered.
 */
#ifndef TESTS_WAITER_H
#define TESTS_WAITER_H

#include "store.h"

struct waiter {
    struct kx_watch *watch;
    struct kx_ticket ticket;
    bool told;
};

/* Teardown: closes the watches, then does what finish does. */
int finish_watches(void **state);

/* Opens a watch of one key, or of two (else NULL). */
void open_waiter(struct story *s, struct waiter *waiter, const char *one,
                 const char *two);

/* Asks for the next change; KX_OK: the ticket will be answered. */
enum kx_status wait_for(struct waiter *waiter);

/* is_told waits for the answer; is_not_told cancels the ticket, and fails if it
 * was answered already. */
void is_told(struct story *s, struct waiter *waiter);
void is_not_told(struct story *s, struct waiter *waiter);

#endif
