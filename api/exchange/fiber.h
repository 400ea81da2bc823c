/* Fibers: small stacks on which the handlers of an event loop run, so that a
 * handler that waits is one function. A fiber belongs to the thread of its pool
 * and runs there from fiber_run until it parks or ends. */
#ifndef API_FIBER_H
#define API_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct fiber;
struct fiber_pool;
typedef void fiber_fn(void *closure);

enum {
    FIBER_SIZE = 256 * 1024, /* bytes of address space of a stack */
    FIBER_GUARD = 64 * 1024, /* bytes at its low end that cannot be touched:
                              * larger than any frame on a fiber */
    FIBER_KEPT = 16 * 1024   /* bytes of a parked or free stack that stay in
                              * memory, and at most a page more; if a parked
                              * function uses more, all that it uses stays */
};

/* NULL when memory ran out. */
struct fiber_pool *fiber_pool_open(void);
/* Frees the stacks. No fiber may be parked. NULL is allowed. */
void fiber_pool_close(struct fiber_pool *pool);

/* Makes a fiber that will call the function. NULL when memory ran out. */
struct fiber *fiber_new(struct fiber_pool *pool, fiber_fn *run, void *closure);
/* Runs the fiber until it parks (true) or its function has returned (false);
 * its stack is then back in the pool. Not to be called on a fiber. */
bool fiber_run(struct fiber *fiber);
/* Called on the fiber: returns when fiber_run is called again. It never returns
 * if the fiber is dropped instead. */
void fiber_park(struct fiber *fiber);
/* Returns the stack of a parked fiber to the pool. Nothing on the stack is
 * unwound, so the caller must already have taken over all that the fiber's
 * function owns. */
void fiber_drop(struct fiber *fiber);

#endif
