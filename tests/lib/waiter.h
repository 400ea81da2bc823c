/* A watching client, in tests: a watch, its ticket, and whether that was
 * answered.
 */
#ifndef TESTS_WAITER_H
#define TESTS_WAITER_H

#include "store.h"

struct waiter {
    struct kx_watch *watch;
    struct kx_ticket ticket;
    bool told;
};

/* Teardown as finish; the watches are gone before their store. */
int finish_watches(void **state);

/* A watch on one key or two. */
void open_waiter(struct story *s, struct waiter *waiter, const char *one,
                 const char *two);

/* Asks for the next change; KX_OK: the ticket will be answered. */
enum kx_status wait_for(struct waiter *waiter);

/* is_told waits for the answer; is_not_told cancels, and fails if it had come.
 */
void is_told(struct story *s, struct waiter *waiter);
void is_not_told(struct story *s, struct waiter *waiter);

#endif
