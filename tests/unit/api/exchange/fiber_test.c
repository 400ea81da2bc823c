/* Fibers: a function on its own stack, which parks, continues and is dropped.
 */
#include "exchange_house.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exchange/fiber.h"

static struct fiber_pool *pool;

static int open_pool(void **state)
{
    pool = fiber_pool_open();
    (void)state;
    return pool == NULL;
}

static int close_pool(void **state)
{
    fiber_pool_close(pool);
    (void)state;
    return 0;
}

struct counting {
    struct fiber *fiber;
    int steps;
    int until;
    double part; /* registers of floating point live across a switch */
};

static void count(void *closure)
{
    struct counting *counting = closure;
    double part = 0.5;
    while (counting->steps < counting->until) {
        counting->steps++;
        part *= 2;
        counting->part = part;
        fiber_park(counting->fiber);
    }
}

static struct counting counting_to(int until)
{
    return (struct counting){.until = until};
}

TEST_WITH(parked_function_continues_where_it_was, open_pool, close_pool)
{
    struct counting first = counting_to(3), second = counting_to(2);
    first.fiber = fiber_new(pool, count, &first);
    second.fiber = fiber_new(pool, count, &second);
    assert_true(fiber_run(first.fiber));
    assert_true(fiber_run(second.fiber));
    assert_true(fiber_run(first.fiber));
    assert_int_equal(first.steps, 2);
    assert_int_equal(second.steps, 1);
    assert_true(first.part == 2.0);
    assert_true(fiber_run(first.fiber));
    assert_false(fiber_run(first.fiber));
    assert_true(fiber_run(second.fiber));
    assert_false(fiber_run(second.fiber));
    assert_int_equal(first.steps, 3);
    assert_int_equal(second.steps, 2);
}

TEST_WITH(ended_fiber_leaves_its_stack_to_the_next, open_pool, close_pool)
{
    struct counting counting = counting_to(1);
    struct fiber *fiber = counting.fiber = fiber_new(pool, count, &counting);
    assert_true(fiber_run(fiber));
    assert_false(fiber_run(fiber));
    assert_ptr_equal(fiber_new(pool, count, &counting), fiber);
    fiber_drop(fiber);
}

/* The fiber never returns from its frames, so the sanitizers must be told that
 * they are dead. */
TEST_WITH(dropped_fiber_never_continues, open_pool, close_pool)
{
    for (int i = 0; i < 3; i++) {
        struct counting counting = counting_to(9);
        counting.fiber = fiber_new(pool, count, &counting);
        assert_true(fiber_run(counting.fiber));
        fiber_drop(counting.fiber);
        assert_int_equal(counting.steps, 1);
    }
}

enum { DEEP = 96 * 1024 };
static uintptr_t deepest;

static void go_deep(void *closure)
{
    unsigned char bytes[DEEP];
    memset(bytes, 1, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    deepest = (uintptr_t)bytes;
    (void)closure;
}

/* The system has the page of an address in memory. */
static bool is_resident(uintptr_t address)
{
    unsigned char in_memory = 0;
    uintptr_t page = address & ~(uintptr_t)(getpagesize() - 1);
    assert_int_equal(mincore((void *)page, 1, &in_memory), 0);
    return (in_memory & 1) != 0;
}

TEST_WITH(deep_stack_gives_its_pages_back, open_pool, close_pool)
{
    struct fiber *fiber = fiber_new(pool, go_deep, NULL);
    assert_false(fiber_run(fiber));
    assert_false(is_resident(deepest));
}

static void go_deep_and_park(void *closure)
{
    struct fiber **fiber = closure;
    go_deep(NULL);
    fiber_park(*fiber);
}

TEST_WITH(parked_fiber_keeps_no_deep_pages, open_pool, close_pool)
{
    struct fiber *fiber = fiber_new(pool, go_deep_and_park, &fiber);
    assert_true(fiber_run(fiber));
    assert_false(is_resident(deepest));
    assert_false(fiber_run(fiber));
}

/* Parks and ends that many fibers at once. */
static void run_at_once(int many)
{
    static struct counting counting[1100];
    for (int i = 0; i < many; i++) {
        counting[i] = counting_to(1);
        counting[i].fiber = fiber_new(pool, count, &counting[i]);
        assert_non_null(counting[i].fiber);
        assert_true(fiber_run(counting[i].fiber));
    }
    for (int i = 0; i < many; i++)
        assert_false(fiber_run(counting[i].fiber));
}

/* A pool keeps fewer. */
TEST_WITH(eleven_hundred_stacks_are_made_and_freed, open_pool, close_pool)
{
    run_at_once(1100);
}

static bool no_memory;

void *__real_mmap(void *at, size_t size, int access, int flags, int fd,
                  off_t offset);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd,
                  off_t offset);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd,
                  off_t offset)
{
    return no_memory ? MAP_FAILED
                     : __real_mmap(at, size, access, flags, fd, offset);
}

/* A batch that answers 1000 clients ends as many fibers, and their next
 * requests begin as many. */
TEST_WITH(thousand_stacks_are_reused, open_pool, close_pool)
{
    run_at_once(1000);
    no_memory = true;
    run_at_once(1000);
    no_memory = false;
}

TEST_WITH(fiber_without_memory_is_null, open_pool, close_pool)
{
    struct counting counting = counting_to(0);
    no_memory = true;
    assert_null(fiber_new(pool, count, &counting));
    no_memory = false;
    counting.fiber = fiber_new(pool, count, &counting);
    assert_non_null(counting.fiber);
    assert_false(fiber_run(counting.fiber));
}

/* The next request is given a stack again. */
TEST_WITH(request_without_a_stack_gets_503, begin_house, finish_house)
{
    no_memory = true;
    struct exchange *exchange = get("/livez", EXCHANGE_REPLY);
    no_memory = false;
    assert_int_equal(exchange->reply.status, 503);
    exchange_end(exchange);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
}

/* The memory of a stack is counted while its handler is parked, and no longer.
 */
TEST_WITH(parked_handler_counts_its_stack, begin_house, finish_house)
{
    atomic_uint_fast64_t *bytes = &house->service.counters.body_bytes;
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/c", kx_text("3"), EXCHANGE_PARK);
    assert_in_range(atomic_load(bytes), FIBER_KEPT, 2 * FIBER_KEPT);
    wait_for_ready(1);
    assert_in_range(atomic_load(bytes), 0, FIBER_KEPT - 1);
    assert_reply(exchange, 201, "\"ok\":true");
    assert_int_equal(atomic_load(bytes), 0);
}
