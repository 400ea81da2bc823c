/* The budget of work, counted in units, so that one request cannot hold the
 * thread that all others need. Work that costs time is charged where it is
 * done; charge_passed tells a loop whether it must stop.
 *
 * One unit is about one nanosecond of one core of a 3 GHz server, but units are
 * counted, never timed: the same request costs the same everywhere. Measured on
 * two such cores, with the rows in memory (nanoseconds, from the plan to the
 * end of the transaction):
 *
 *   a row that is put or removed         2,900 to 4,400
 *   a row that is looked up or passed    300 to 1,000
 *   a byte of a value that is stored     5 to 7 (overlay, page, log)
 *   a byte of a value that is removed    1.2 (unread) to 2.9
 *   a byte of JSON that is passed        0.2 (long strings) to 0.9 (members)
 *   a byte beyond ASCII that is folded   18 (lower) to 33 (casefold)
 *   an operation of a JSON Patch         220, without what it passes
 *   a comparison of two short values     100
 *   an entry of a digest                 100 to 260
 *
 * Threads: a charge belongs to one thread at a time. */
#ifndef CHARGE_H
#define CHARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Units of one piece of work. */
enum charge_price {
    CHARGE_ROW = 5500,     /* a row that is put or removed */
    CHARGE_READ = 1000,    /* a row that is looked up, or passed in a range */
    CHARGE_STORED = 6,     /* a byte of a row that is put */
    CHARGE_REMOVED = 2,    /* a byte of a row that is removed or replaced */
    CHARGE_PASSED = 1,     /* a byte that is read, compared or copied */
    CHARGE_FOLDED = 30,    /* a byte beyond ASCII, or an escape, of a text that
                            * is folded for an index */
    CHARGE_OPERATION = 200 /* an operation of a patch, a comparison, an entry of
                            * a digest, a key that is made for an index */
};

struct charge {
    uint64_t spent;
    uint64_t most;
};

/* Adds the price of `count` pieces of work. charge NULL: not counted. */
static inline void charge_add(struct charge *charge, uint64_t count,
                              enum charge_price price)
{
    if (charge != NULL)
        charge->spent += count * price;
}

/* True if more was spent than the budget has. */
static inline bool charge_passed(const struct charge *charge)
{
    return charge != NULL && charge->spent > charge->most;
}

#endif
