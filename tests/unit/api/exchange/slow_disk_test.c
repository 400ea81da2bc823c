/* A loop whose thread has waited for a slow disk a few times reads no rows for
 * a second: workers do. `pread` here is called in the place of the C
 * library's. */
#include "exchange_house.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "commit/store_state.h"
#include "exchange/exchange_loop.h"
#include "exchange/workers.h"

enum {
    ENTRIES = 400, /* of a quarter of a page, so that neighbours share one */
    STEP = 20,
    FEW = 8, /* entries, each on a page that is not in memory */
    READ_NS = 1000000
};
static const uint64_t FIRST_NS = 5000ull * KX_MS_NS;
static const uint64_t PERIOD_NS = 1000ull * KX_MS_NS; /* of exchange_loop.c */

static atomic_bool slow;
static _Thread_local int own_reads;

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
    own_reads++;
    if (atomic_load(&slow))
        nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL);
    return real(fd, bytes, size, at);
}

static const char *value_of(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d,\"pad\":\"%0900d\"}", n, n);
}

static void fill(struct test_store *test)
{
    test_fill(test, "u", 0, ENTRIES, value_of);
}

static struct exchange *get_entry(int n, enum exchange_next next)
{
    const char *target = talloc_asprintf(house->mem, "/kv/u/=%d", n);
    return get(target, next);
}

static void assert_entry(struct exchange *exchange, int n)
{
    assert_reply(exchange, 200, talloc_asprintf(house->mem, "\"n\":%d,", n));
}

/* By the thread of the loop, which waits for each. */
static void get_few(int first)
{
    for (int n = first; n < first + FEW * STEP; n += STEP)
        assert_entry(get_entry(n, EXCHANGE_REPLY), n);
}

static void begin_turn(uint64_t now_ns)
{
    exchange_loop_begin(&house->queue, now_ns);
    /* Its clock is not the real one, and its reads are slow. */
    house->queue.busy_until_ns = house->queue.begin_left_ns = UINT64_MAX;
}

/* By workers, all at once. */
static void get_few_beside(int first)
{
    struct exchange *exchanges[FEW];
    unsigned ready = house->ready;
    for (int i = 0; i < FEW; i++)
        exchanges[i] = get_entry(first + i * STEP, EXCHANGE_PARK);
    wait_for_ready(ready + FEW);
    for (int i = 0; i < FEW; i++)
        assert_entry(exchanges[i], first + i * STEP);
}

static int begin_without(void **state)
{
    house_fill = fill;
    atomic_store(&slow, false);
    begin_house(state);
    begin_turn(FIRST_NS - 2 * PERIOD_NS); /* opening may have been slow, */
    begin_turn(FIRST_NS - 1);             /* and does not count any longer */
    atomic_store(&slow, true);
    return 0;
}

static int begin_with(void **state)
{
    house_read_workers = 2;
    return begin_without(state);
}

TEST_WITH(workers_read_rows_after_the_loop_waited_for_the_disk, begin_with,
          finish_house)
{
    get_few(0);
    begin_turn(FIRST_NS + 1);
    int before = own_reads;
    get_few_beside(FEW * STEP);
    struct exchange *list = get("/list?prefix=u&limit=3", EXCHANGE_PARK);
    wait_for_ready(FEW + 1);
    assert_reply(list, 200, "\"n\":2,");
    assert_entry(get_entry(FEW * STEP, EXCHANGE_REPLY),
                 FEW * STEP); /* cached now */
    assert_int_equal(own_reads, before);
}

TEST_WITH(disk_counts_as_slow_while_workers_wait_for_it, begin_with,
          finish_house)
{
    get_few(0);
    begin_turn(FIRST_NS);
    begin_turn(FIRST_NS + PERIOD_NS - 1);
    get_few_beside(FEW * STEP);
    begin_turn(FIRST_NS + PERIOD_NS);
    begin_turn(FIRST_NS + 2 * PERIOD_NS - 1);
    assert_true(house->queue.workers_read);
    begin_turn(FIRST_NS + 2 * PERIOD_NS);
    get_few(1);
    assert_false(house->queue.workers_read);
}

static bool note(struct slow_disk *disk, uint64_t count, uint64_t slow_ones,
                 uint64_t at_ns)
{
    struct kx_disk_reads reads = {.count = count, .slow = slow_ones};
    return exchange_loop_note_reads(disk, reads, at_ns);
}

TEST(few_slow_reads_do_not_make_the_disk_slow)
{
    struct slow_disk disk = {.seen_ns = 1};
    assert_false(note(&disk, 3, 3, 2));
    assert_false(note(&disk, 3, 3, PERIOD_NS + 1));
    assert_false(note(&disk, 6, 6, PERIOD_NS + 2)); /* three in each second */
    assert_false(note(&disk, 6, 6, 2 * PERIOD_NS + 2));
    assert_false(note(&disk, 39, 10, 2 * PERIOD_NS + 3)); /* 4 of 33 */
    assert_true(note(&disk, 46, 11, 2 * PERIOD_NS + 4));  /* 5 of 40 */
    assert_true(note(&disk, 200, 14, 2 * PERIOD_NS + 5));
    assert_true(note(&disk, 200, 14, 3 * PERIOD_NS + 3));
    assert_false(note(&disk, 200, 14, 3 * PERIOD_NS + 4));
}

/* Their view is one that the loop could not have at once. */
TEST_WITH(parked_read_continues_on_the_loop_or_a_worker, begin_with,
          finish_house)
{
    struct view *view = &house->service.store->view;
    view_apply_begin(view);
    struct exchange *parked = get_entry(0, EXCHANGE_PARK);
    view_apply_cancel(view);
    wait_for_ready(1);
    assert_entry(parked, 0);
    get_few(STEP);
    view_apply_begin(view);
    parked = get_entry((FEW + 1) * STEP, EXCHANGE_PARK);
    begin_turn(FIRST_NS);
    view_apply_cancel(view);
    wait_for_ready(2);
    assert_entry(parked, (FEW + 1) * STEP);
    assert_int_equal(atomic_load(&view->retries), 0);
}

/* A disk answers at last, unlike a database. */
TEST_WITH(disk_reads_are_never_refused_however_many_wait, begin_with,
          finish_house)
{
    enum { SENT = READ_QUEUE_MAX + FEW };
    static struct exchange *exchanges[SENT];
    struct view *view = &house->service.store->view;
    unsigned parked = 0;
    get_few(0);
    begin_turn(FIRST_NS);
    view_apply_begin(view);
    for (int i = 0; i < SENT; i++) {
        exchanges[i] = begin_request(METHOD_GET, "/list?prefix=u&limit=1",
                                     kx_slice(NULL, 0));
        parked += exchange_run(exchanges[i]) == EXCHANGE_PARK;
    }
    view_apply_cancel(view);
    wait_for_ready(parked);
    assert_int_equal(parked, SENT);
    for (int i = 0; i < SENT; i++) {
        assert_true(exchanges[i]->read_until_ns == UINT64_MAX);
        assert_entry(exchanges[i], 0);
    }
}

TEST_WITH(loop_reads_rows_when_there_are_no_workers, begin_without,
          finish_house)
{
    get_few(0);
    begin_turn(FIRST_NS);
    get_few(FEW * STEP);
}
