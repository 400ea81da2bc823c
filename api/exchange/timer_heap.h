/* Times of many things that wait, of which the next one is always known: a
 * pairing heap that is linked through its members, so that nothing here
 * allocates. To set, to take back and to take the next one costs a few steps,
 * however many there are. All functions belong to the thread that has the
 * alarms. */
#ifndef API_ALARMS_H
#define API_ALARMS_H

#include <stdint.h>

/* Of one thing that waits. Zeroed, it is not set. */
struct alarm {
    uint64_t at_ns;
    struct alarm *child; /* the first of those that come later than it */
    struct alarm *next;  /* another child of the same one */
    struct alarm **link; /* what points to it; NULL: not set */
};

/* Zeroed, it has none. */
struct timer_heap {
    struct alarm *first; /* the next one; NULL: there is none */
};

/* Sets an alarm that is not set. */
void timer_heap_set(struct timer_heap *alarms, struct alarm *alarm,
                    uint64_t at_ns);
/* Takes an alarm back; one that is not set stays so. */
void timer_heap_clear(struct timer_heap *alarms, struct alarm *alarm);

#endif
