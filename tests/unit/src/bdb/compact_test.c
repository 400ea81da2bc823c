/* The cost of compaction: pages and bytes of log in each step, for which
 * readers wait, and all bytes of log compared with the bytes that become free.
 * Neither depends on the number of pages that are free already. The Makefile
 * puts __wrap_compact_rows where the core calls compact_rows. */
#include "store.h"

#include <sys/stat.h>

#include "bdb/compact.h"
#include "bdb/bdb.h"
#include "bdb/page_check.h"
#include "commit/store_state.h"

enum {
    LARGE = 2000, /* rows that leave a long list of free pages */
    LARGE_BYTES = 12000,
    LARGE_TOGETHER = 100,
    SMALL = 40000,
    REMOVED = 30000,
    KILOBYTES = 8000,
    KEPT = 2000, /* of these */
    COMMIT = 500,

    /* Of a step. The rows are on some ten pages, the ways to them, and those
     * beside them. */
    STEP_PAGES_MAX = 500,
    STEP_LOG_MAX = 128 << 10,
    /* Of a pass, as in tidy.c. */
    PRICE = 4,
    TRIAL_BYTES = 4 << 20,
    FAKED_BYTES = 1 << 20
};

static struct {
    bool faked; /* steps do nothing, at a high price */
    atomic_int steps;
    size_t start_size; /* of the key at which the last pass began */
    uint64_t pages_most;
    uint64_t log_most;
    uint64_t log;
    uint64_t freed;
} seen;

enum kx_status __real_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step);
enum kx_status __wrap_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step);

static uint64_t log_bytes(struct env *env)
{
    DB_LOG_STAT *stat = NULL;
    assert_int_equal(env->db->log_stat(env->db, &stat, 0), 0);
    uint64_t bytes =
        (uint64_t)stat->st_cur_file * stat->st_lg_size + stat->st_cur_offset;
    free(stat);
    return bytes;
}

static uint64_t pages_looked_at(struct env *env)
{
    struct env_stats figures;
    env_stats_read(env, &figures);
    return figures.cache_hits + figures.cache_misses;
}

static void keep_most(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

/* On the writer's thread, while no view is open: no reader looks at pages
 * meanwhile. */
static enum kx_status measure(struct env *env, enum table table,
                              struct compact_step *step)
{
    uint64_t pages = pages_looked_at(env);
    uint64_t log = log_bytes(env);
    enum kx_status status = __real_compact_rows(env, table, step);
    log = log_bytes(env) - log;
    keep_most(&seen.log_most, log);
    keep_most(&seen.pages_most, pages_looked_at(env) - pages);
    seen.log += log;
    seen.freed += step->freed;
    return status;
}

enum kx_status __wrap_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step)
{
    enum kx_status status = KX_OK;
    if (atomic_load(&seen.steps) == 0)
        seen.start_size = step->start.size;
    if (seen.faked)
        step->logged = FAKED_BYTES;
    else
        status = measure(env, table, step);
    atomic_fetch_add(&seen.steps, 1);
    return status;
}

static const char *one(void *mem, int n)
{
    (void)mem;
    (void)n;
    return "1";
}

static const char *kilobyte(void *mem, int n)
{
    return talloc_asprintf(mem, "\"%01022d\"", n);
}

static void fill(struct story *s, const char *prefix, int from, int count,
                 const char *(*value_of)(void *mem, int n))
{
    for (int n = from; n < from + count; n += COMMIT)
        test_fill(&s->test, prefix, n, COMMIT, value_of);
}

static void remove_below(struct story *s, int n)
{
    for (int end = COMMIT; end <= n; end += COMMIT) {
        struct kx_mutation mutation = {
            .type = KX_DELETE_RANGE,
            .key = test_key(s->mem, "[\"u\"]"),
            .end = test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", end)),
            .limit = COMMIT};
        struct kx_commit commit = {
            .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        assert_int_equal(commit.in_range, COMMIT);
    }
}

static uint64_t file_pages(struct story *s)
{
    char path[128];
    struct stat stat_out;
    snprintf(path, sizeof path, "%s/%s", s->test.directory,
             table_file(TABLE_ENTRIES));
    assert_int_equal(stat(path, &stat_out), 0);
    return (uint64_t)stat_out.st_size / PAGE_BYTES;
}

static void write_large(void *mem, struct env *env, enum row_write_type type,
                        int first)
{
    static const uint8_t zeros[LARGE_BYTES];
    struct row_write writes[LARGE_TOGETHER];
    for (int i = 0; i < LARGE_TOGETHER; i++)
        writes[i] = (struct row_write){
            .type = type,
            .table = TABLE_ENTRIES,
            .key = kx_text(talloc_asprintf(mem, "large %d", first + i)),
            .value = kx_slice(zeros, LARGE_BYTES)};
    assert_int_equal(txn_apply(env, writes, LARGE_TOGETHER, ROWS_SCATTERED),
                     KX_OK);
}

/* Leaves a long list of free pages, as earlier versions did, which did not
 * shorten the file at their end. */
static void leave_a_long_list(struct story *s)
{
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    for (int n = 0; n < LARGE; n += LARGE_TOGETHER)
        write_large(s->mem, env, ROW_PUT, n);
    for (int n = 0; n < LARGE; n += LARGE_TOGETHER)
        write_large(s->mem, env, ROW_DELETE, n);
    assert_int_equal(env_close(env), KX_OK);
    assert_true(file_pages(s) > (uint64_t)LARGE * 3);
    test_store_open(&s->test);
}

static void wait_for_passes(struct story *s, uint64_t count)
{
    while (atomic_load(&s->test.store->stats.compactions) < count)
        usleep(1000);
}

static int begin_counting(void **state)
{
    memset(&seen, 0, sizeof seen);
    return begin(state);
}

TEST_WITH(compaction_step_is_bounded_however_many_pages_are_free,
          begin_counting, finish)
{
    struct story *s = *state;
    leave_a_long_list(s);
    fill(s, "v", 0, COMMIT, one); /* else the pages of the next would be full */
    fill(s, "u", 0, SMALL, one);
    remove_below(s, REMOVED);
    wait_for_passes(s, 1);
    printf("%d steps: at most %llu pages, %llu bytes of log; in all %llu for "
           "%llu pages\n",
           atomic_load(&seen.steps), (unsigned long long)seen.pages_most,
           (unsigned long long)seen.log_most, (unsigned long long)seen.log,
           (unsigned long long)seen.freed);
    assert_true(seen.freed > 0);
    assert_in_range(seen.pages_most, 1, STEP_PAGES_MAX);
    assert_in_range(seen.log_most, 0, STEP_LOG_MAX);
    assert_in_range(seen.log, 0,
                    PRICE * seen.freed * PAGE_BYTES + TRIAL_BYTES +
                        STEP_LOG_MAX);
}

TEST_WITH(compaction_stops_when_it_frees_too_little, begin_counting, finish)
{
    struct story *s = *state;
    seen.faked = true;
    fill(s, "u", 0, KILOBYTES, kilobyte);
    wait_for_passes(s, 1);
    assert_int_equal(atomic_load(&seen.steps), TRIAL_BYTES / FAKED_BYTES + 1);
    assert_int_equal(seen.start_size, 0);
    atomic_store(&seen.steps, 0);
    fill(s, "v", 0, KILOBYTES, kilobyte);
    wait_for_passes(s, 2);
    assert_int_not_equal(seen.start_size, 0);
}

TEST_WITH(close_shortens_the_table_file, begin_counting, finish)
{
    struct story *s = *state;
    struct kx_range all = {.start = test_key(s->mem, "[\"u\"]")};
    fill(s, "u", 0, KILOBYTES, kilobyte);
    test_store_close(&s->test);
    uint64_t full = file_pages(s);
    test_store_open(&s->test);
    remove_below(s, KILOBYTES - KEPT);
    test_store_close(&s->test);
    assert_in_range(file_pages(s), full / 5, full / 3);
    test_store_open(&s->test);
    assert_int_equal(test_count(&s->test, &all), KEPT);
    assert_string_equal(test_get(&s->test, s->mem, "[\"u\",7999]"),
                        kilobyte(s->mem, 7999));
}
