/* Stacks for fibers. Each lies in its own mapping: a guard at its low end,
 * struct fiber at its high end. A free fiber waits in the loop of its entry
 * function, so that nothing has to be set up for its next use.
 *
 * The switch is Boost.Context's (libboost_context.a), which is assembler
 * without a C++ runtime and comes without a header for C: its two functions and
 * their struct are declared here, as in libs/context/doc/fcontext.qbk of Boost
 * 1.61 and later. */
#include "exchange/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <talloc.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

/* gcc says which sanitizer is on by a macro, clang by a feature. */
#if defined __SANITIZE_ADDRESS__
#define WITH_ASAN
#elif defined __SANITIZE_THREAD__
#define WITH_TSAN
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#elif __has_feature(thread_sanitizer)
#define WITH_TSAN
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum {
    FREE_MAX = 1024, /* stacks that a pool keeps for reuse */
    /* The tops of stacks begin at this many different offsets, a step apart:
     * otherwise they would compete for the same cache sets. */
    OFFSETS = 15,
    OFFSET_STEP = 1088
};

static const uint64_t UNTOUCHED = 0x6b696e6465782121;

/* ---- Boost.Context ------------------------------------------------------ */

/* The origin of a jump, and its argument. */
struct fiber_jump {
    void *from;
    void *data;
};
struct fiber_jump jump_fcontext(void *to, void *data);
void *make_fcontext(void *top, size_t size, void (*entry)(struct fiber_jump));

/* ---- Fibers ------------------------------------------------------------- */

struct fiber {
    void *context; /* where the fiber continues */
    void *caller;  /* where its fiber_run does; NULL: it does not run */
    bool ended;    /* its function has returned */
    fiber_fn *run;
    void *closure;
    struct fiber_pool *pool;
    struct fiber *next;    /* in the pool */
    LIST_ENTRY(fiber) all; /* of the pool; for deploy/fibers.py */
    uint8_t *base;         /* of the mapping */
    unsigned valgrind_id;
#ifdef WITH_ASAN
    void *fake_stack;
    const void *caller_stack;
    size_t caller_size;
#endif
#ifdef WITH_TSAN
    void *tsan_fiber;
    void *tsan_caller;
#endif
};

/* deploy/fibers.py shows the stacks of all pools. */
static LIST_HEAD(fiber_pools, fiber_pool) pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

struct fiber_pool {
    LIST_ENTRY(fiber_pool) link;
    LIST_HEAD(fibers, fiber) all;
    struct fiber *free; /* the one used last first: it is in the caches */
    size_t free_count;
    size_t made;
};

static uint8_t *low_end(const struct fiber *fiber)
{
    return fiber->base + FIBER_GUARD;
}

static size_t size_of(const struct fiber *fiber)
{
    return (size_t)((const uint8_t *)fiber - low_end(fiber));
}

/* The first word below what a stack keeps: unless it is untouched, the stack
 * was deep. */
static uint64_t *depth_mark(const struct fiber *fiber)
{
    uintptr_t top = (uintptr_t)fiber & ~(uintptr_t)4095;
    return (uint64_t *)(top - FIBER_KEPT) - 1;
}

/* ---- What valgrind is told ----------------------------------------------- */

#ifdef VALGRIND_STACK_REGISTER
static void announce_stack(struct fiber *fiber)
{
    fiber->valgrind_id = VALGRIND_STACK_REGISTER(low_end(fiber), fiber);
}
static void forget_stack(const struct fiber *fiber)
{
    VALGRIND_STACK_DEREGISTER(fiber->valgrind_id);
}
#else
static void announce_stack(struct fiber *fiber)
{
    fiber->valgrind_id = 0;
}
static void forget_stack(const struct fiber *fiber)
{
    (void)fiber;
}
#endif

/* ---- Switches, which sanitizers are told of ----------------------------- */

#ifdef WITH_ASAN
static void enter_begins(struct fiber *fiber, void **fake)
{
    __sanitizer_start_switch_fiber(fake, low_end(fiber), size_of(fiber));
}
static void enter_ends(void *fake)
{
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}
static void leave_begins(struct fiber *fiber)
{
    __sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->caller_stack,
                                   fiber->caller_size);
}
static void leave_ends(struct fiber *fiber)
{
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->caller_stack,
                                    &fiber->caller_size);
}
/* Frames that are never left have poisoned it. */
static void forget_frames(struct fiber *fiber)
{
    __asan_unpoison_memory_region(low_end(fiber), size_of(fiber));
    fiber->fake_stack = NULL;
}
#elif defined WITH_TSAN
static void enter_begins(struct fiber *fiber, void **fake)
{
    (void)fake;
    fiber->tsan_caller = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->tsan_fiber, 0);
}
static void enter_ends(void *fake)
{
    (void)fake;
}
static void leave_begins(struct fiber *fiber)
{
    __tsan_switch_to_fiber(fiber->tsan_caller, 0);
}
static void leave_ends(struct fiber *fiber)
{
    (void)fiber;
}
static void forget_frames(struct fiber *fiber)
{
    __tsan_destroy_fiber(fiber->tsan_fiber);
    fiber->tsan_fiber = __tsan_create_fiber(0);
}
#else
static inline void enter_begins(struct fiber *fiber, void **fake)
{
    (void)fiber;
    (void)fake;
}
static inline void enter_ends(void *fake)
{
    (void)fake;
}
static inline void leave_begins(struct fiber *fiber)
{
    (void)fiber;
}
static inline void leave_ends(struct fiber *fiber)
{
    (void)fiber;
}
static inline void forget_frames(struct fiber *fiber)
{
    (void)fiber;
}
#endif

static void leave(struct fiber *fiber)
{
    leave_begins(fiber);
    struct fiber_jump back = jump_fcontext(fiber->caller, NULL);
    leave_ends(fiber);
    fiber->caller = back.from;
}

static void entry(struct fiber_jump first)
{
    struct fiber *fiber = first.data;
    leave_ends(fiber);
    fiber->caller = first.from;
    for (;;) {
        fiber->run(fiber->closure);
        fiber->ended = true;
        leave(fiber);
    }
}

/* ---- Stacks ------------------------------------------------------------- */

static void set_up(struct fiber *fiber)
{
    forget_frames(fiber);
    fiber->context = make_fcontext(fiber, size_of(fiber), entry);
}

/* The mapping is filled with zeros, and takes memory only where it is touched.
 */
static struct fiber *map_stack(struct fiber_pool *pool)
{
    uint8_t *base = mmap(NULL, FIBER_SIZE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (mprotect(base, FIBER_GUARD, PROT_NONE) != 0) {
        munmap(base, FIBER_SIZE);
        return NULL;
    }
    size_t below = pool->made++ % OFFSETS * OFFSET_STEP + sizeof(struct fiber);
    struct fiber *fiber = (void *)(base + FIBER_SIZE - ((below + 63) & ~63ul));
    *fiber = (struct fiber){.pool = pool, .base = base};
    LIST_INSERT_HEAD(&pool->all, fiber, all);
    announce_stack(fiber);
#ifdef WITH_TSAN
    fiber->tsan_fiber = __tsan_create_fiber(0);
#endif
    *depth_mark(fiber) = UNTOUCHED;
    set_up(fiber);
    return fiber;
}

static void unmap_stack(struct fiber *fiber)
{
    LIST_REMOVE(fiber, all);
    forget_stack(fiber);
#ifdef WITH_TSAN
    __tsan_destroy_fiber(fiber->tsan_fiber);
#else
    forget_frames(fiber); /* the next mapping there must not be poisoned */
#endif
    munmap(fiber->base, FIBER_SIZE);
}

/* Releases the memory below the mark of a stack that was deep. The page of the
 * mark itself always stays in memory. */
static void trim(struct fiber *fiber)
{
    uint64_t *mark = depth_mark(fiber);
    if (*mark == UNTOUCHED)
        return;
    uintptr_t page = (uintptr_t)mark & ~(uintptr_t)4095;
    madvise(low_end(fiber), page - (uintptr_t)low_end(fiber), MADV_DONTNEED);
    *mark = UNTOUCHED;
}

static void give_back(struct fiber *fiber)
{
    fiber->run = NULL;
    struct fiber_pool *pool = fiber->pool;
    if (pool->free_count >= FREE_MAX) {
        unmap_stack(fiber);
        return;
    }
    trim(fiber);
    fiber->next = pool->free;
    pool->free = fiber;
    pool->free_count++;
}

struct fiber_pool *fiber_pool_open(void)
{
    struct fiber_pool *pool = talloc_zero(NULL, struct fiber_pool);
    if (pool == NULL)
        return NULL;
    pthread_mutex_lock(&pools_lock);
    LIST_INSERT_HEAD(&pools, pool, link);
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

void fiber_pool_close(struct fiber_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pools_lock);
    LIST_REMOVE(pool, link);
    pthread_mutex_unlock(&pools_lock);
    while (pool->free != NULL) {
        struct fiber *fiber = pool->free;
        pool->free = fiber->next;
        unmap_stack(fiber);
    }
    talloc_free(pool);
}

struct fiber *fiber_new(struct fiber_pool *pool, fiber_fn *run, void *closure)
{
    struct fiber *fiber = pool->free;
    if (fiber != NULL) {
        pool->free = fiber->next;
        pool->free_count--;
    } else {
        fiber = map_stack(pool);
        if (fiber == NULL)
            return NULL;
    }
    fiber->ended = false;
    fiber->run = run; /* until it ends or is dropped */
    fiber->closure = closure;
    return fiber;
}

bool fiber_run(struct fiber *fiber)
{
    void *fake = NULL;
    enter_begins(fiber, &fake);
    struct fiber_jump back = jump_fcontext(fiber->context, fiber);
    enter_ends(fake);
    fiber->context = back.from;
    fiber->caller = NULL;
    if (fiber->ended) {
        give_back(fiber);
        return false;
    }
    if ((uint64_t *)fiber->context > depth_mark(fiber))
        trim(fiber);
    return true;
}

void fiber_park(struct fiber *fiber)
{
    leave(fiber);
}

void fiber_drop(struct fiber *fiber)
{
    set_up(fiber);
    give_back(fiber);
}
