/* Alarms of many waiting objects, of which the earliest is always known: a
 * pairing heap that is linked through its members and allocates nothing.
 * Setting takes constant time, removing logarithmic time (amortized). All
 * functions belong to the thread that has the alarms. */
#ifndef API_TIMER_HEAP_H
#define API_TIMER_HEAP_H

#include <stdint.h>

/* The alarm of one waiting object. Zeroed, it is not set. */
struct alarm {
    uint64_t at_ns;
    struct alarm *child; /* the first child; children are no earlier */
    struct alarm *next;  /* the next child of the same parent */
    struct alarm **link; /* the pointer to this alarm; NULL: not set */
};

/* Zeroed, it is empty. */
struct timer_heap {
    struct alarm *first; /* the earliest; NULL: no alarm is set */
};

/* Sets an alarm that is not set. */
void timer_heap_set(struct timer_heap *alarms, struct alarm *alarm,
                    uint64_t at_ns);
/* Removes an alarm; does nothing if it is not set. */
void timer_heap_clear(struct timer_heap *alarms, struct alarm *alarm);

#endif
