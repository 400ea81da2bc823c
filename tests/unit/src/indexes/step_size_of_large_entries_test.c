/* Background work on large entries, or such with many index entries, goes in
 * steps that are as small as those on small ones: everybody waits for a step.
 * The Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include <stdatomic.h>

#include "commit/job.h"
#include "store/job_scheduler.h"
#include "bdb/range.h"
#include "commit/store_state.h"
#include "bdb/table.h"

enum kx_status __real_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __real_table_get(struct env *env, enum table table,
                                struct kx_slice key,
                                struct kx_buffer *value_out);
enum kx_status __wrap_table_get(struct env *env, enum table table,
                                struct kx_slice key,
                                struct kx_buffer *value_out);
bool __real_job_scheduler_run(struct kx_store *store);
bool __wrap_job_scheduler_run(struct kx_store *store);

enum {
    ENTRIES = 24,
    BYTES = 1000000,
    ELEMENTS = 500,
    STEP_ROWS = 5000,
    GROUP = 1000
};

static _Atomic size_t step_bytes; /* of values that the present step has read */
static _Atomic size_t most_bytes; /* and by one of them at most */
static _Atomic size_t step_reads; /* rows that it has read in order */
static _Atomic size_t most_reads; /* and one of them at most */
static _Atomic size_t most_rows;  /* of one transaction */
static _Atomic size_t step_gets;  /* look-ups by the present step */
static _Atomic size_t most_gets;  /* and by one of them at most */

enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out)
{
    enum kx_status status = __real_range_next(range, key_out, value_out);
    if (status == KX_OK)
        atomic_fetch_add(&step_bytes, value_out->size);
    atomic_fetch_add(&step_reads, 1);
    return status;
}

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    if (count > atomic_load(&most_rows))
        atomic_store(&most_rows, count);
    return __real_txn_apply(env, writes, count, order);
}

enum kx_status __wrap_table_get(struct env *env, enum table table,
                                struct kx_slice key,
                                struct kx_buffer *value_out)
{
    enum kx_status status = __real_table_get(env, table, key, value_out);
    atomic_fetch_add(&step_gets, 1);
    if (status == KX_OK)
        atomic_fetch_add(&step_bytes, value_out->size);
    return status;
}

bool __wrap_job_scheduler_run(struct kx_store *store)
{
    atomic_store(&step_bytes, 0);
    atomic_store(&step_reads, 0);
    atomic_store(&step_gets, 0);
    bool more = __real_job_scheduler_run(store);
    if (atomic_load(&step_bytes) > atomic_load(&most_bytes))
        atomic_store(&most_bytes, atomic_load(&step_bytes));
    if (atomic_load(&step_reads) > atomic_load(&most_reads))
        atomic_store(&most_reads, atomic_load(&step_reads));
    if (atomic_load(&step_gets) > atomic_load(&most_gets))
        atomic_store(&most_gets, atomic_load(&step_gets));
    return more;
}

static const char *large(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d,\"x\":\"%0*d\"}", n, BYTES, 0);
}

/* Fails unless each entry was read, and no step has read many. */
static void went_in_small_steps(void)
{
    size_t most = atomic_exchange(&most_bytes, 0);
    assert_in_range(most, BYTES, 2 * JOB_BYTES_MAX + 3 * BYTES);
}

static enum kx_status change(struct story *s, enum kx_command_kind kind,
                             const char *patch)
{
    struct kx_commit commit = {.command.kind = kind,
                               .command.index_name = kx_text("by_n"),
                               .command.declaration = kx_text(patch),
                               .command.repair = true,
                               .memory = s->mem};
    return test_commit(&s->test, &commit);
}

static bool is_busy(struct story *s)
{
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    enum kx_status status =
        kx_index_find(s->test.reader, kx_text("by_n"), &info);
    bool busy = status == KX_OK &&
                (info.state != KX_INDEX_READY ||
                 (info.verification != NULL && info.verification->running));
    kx_read_end(s->test.reader);
    return busy;
}

static bool is_dropping(struct story *s)
{
    kx_read_begin(s->test.reader);
    bool dropping = s->test.store->catalog->dropping_count > 0;
    kx_read_end(s->test.reader);
    return dropping;
}

TEST_WITH(no_background_step_reads_many_large_entries, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < ENTRIES; n++)
        test_fill(&s->test, "u", n, 1, large);
    atomic_store(&most_bytes, 0);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/n\"],\"store\":\"value\"}"),
                     KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(change(s, KX_VERIFY_INDEX, ""), KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(change(s, KX_MIGRATE_INDEX, "{\"store\":\"pointer\"}"),
                     KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(change(s, KX_VERIFY_INDEX, ""), KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(
        change(s, KX_MIGRATE_INDEX, "{\"store\":{\"fields\":[\"/n\"]}}"),
        KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(change(s, KX_MIGRATE_INDEX, "{\"store\":\"value\"}"),
                     KX_OK);
    while (is_busy(s))
        usleep(1000);
    went_in_small_steps();
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    while (is_dropping(s))
        usleep(1000);
    went_in_small_steps();
    while (atomic_load(&s->test.store->stats.compactions) == 0)
        usleep(1000);
    went_in_small_steps();
}

static void set_elements(struct story *s, int n, int64_t expires_at_ms)
{
    struct kx_buffer text;
    kx_buffer_init(&text, s->mem);
    for (int i = 0; i < ELEMENTS; i++) {
        char element[16];
        snprintf(element, sizeof element, "%c%d", i == 0 ? '[' : ',', i);
        kx_add_text(&text, element);
    }
    kx_add(&text, "]", 2);
    struct kx_mutation mutation = {
        .type = KX_SET,
        .key = test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", n)),
        .value = test_json((const char *)text.data),
        .expires_at_ms = expires_at_ms};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

/* Declares an index with each, whose entries have many elements. */
static void declare_elements(struct story *s)
{
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                     "\"fields\":[{\"path\":\"\",\"each\":true}]}"),
        KX_OK);
    while (is_busy(s))
        usleep(1000);
}

TEST_WITH(no_background_step_expires_many_index_entries, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    kx_clock_set(1000000);
    declare_elements(s);
    for (int n = 0; n < ENTRIES; n++)
        set_elements(s, n, 1000500);
    assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    assert_int_equal(info.entries, ENTRIES * ELEMENTS);
    atomic_store(&most_rows, 0);
    kx_clock_set(1001000);
    assert_int_equal(test_set(&s->test, s->mem, "[\"other\"]", "1"), KX_OK);
    while (test_index(&s->test, "by_n", &info) == KX_OK && info.entries > 0)
        usleep(1000);
    assert_in_range(atomic_load(&most_rows), ELEMENTS, STEP_ROWS);
}

TEST_WITH(no_background_step_verifies_many_index_entries, begin, finish)
{
    struct story *s = *state;
    declare_elements(s);
    for (int n = 0; n < ENTRIES; n++)
        set_elements(s, n, 0);
    atomic_store(&most_gets, 0);
    assert_int_equal(change(s, KX_VERIFY_INDEX, ""), KX_OK);
    while (is_busy(s))
        usleep(1000);
    assert_in_range(atomic_load(&most_gets), ELEMENTS, STEP_ROWS);
}

static const char *number(void *mem, int n)
{
    return talloc_asprintf(mem, "%d", n);
}

/* The first two entries have the first and the last place in the index; between
 * them lie those that were written since it was declared. */
TEST_WITH(no_step_of_a_slow_build_reads_the_whole_index, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.done = 0};
    struct kx_commit declaration = {
        .command.kind = KX_DECLARE_INDEX,
        .command.declaration = kx_text("{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                                       "\"fields\":[\"\"]}"),
        .command.pace.paused = true,
        .memory = s->mem};
    struct kx_commit pace = {.command.kind = KX_PACE_INDEX,
                             .command.index_name = kx_text("by_n"),
                             .command.pace = {.sets_paused = true,
                                              .sets_limit = true,
                                              .per_second = 20},
                             .memory = s->mem};
    test_set(&s->test, s->mem, "[\"u\",\"a\"]", "-1");
    test_set(&s->test, s->mem, "[\"u\",\"b\"]", "1e9");
    assert_int_equal(test_commit(&s->test, &declaration), KX_OK);
    for (int n = 0; n < STEP_ROWS; n += GROUP)
        test_fill(&s->test, "u", n, GROUP, number);
    atomic_store(&most_reads, 0);
    assert_int_equal(test_commit(&s->test, &pace), KX_OK);
    while (info.done == 0)
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    assert_in_range(info.done, 2, 10);
    assert_in_range(atomic_load(&most_reads), 2, GROUP);
}

/* All entries have one value of a unique index. */
TEST_WITH(expiry_step_does_not_search_conflict_group_for_each_entry, begin,
          finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    kx_clock_set(1000000);
    for (int n = 0; n < GROUP; n++)
        assert_int_equal(
            test_set_until(&s->test, s->mem,
                           talloc_asprintf(s->mem, "[\"u\",%d]", n), 1000500),
            KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"\"],\"unique\":true}"),
                     KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    assert_int_equal(info.conflicts, GROUP - 1);
    atomic_store(&most_reads, 0);
    kx_clock_set(1001000);
    while (is_busy(s) || atomic_load(&most_reads) == 0)
        usleep(1000);
    assert_in_range(atomic_load(&most_reads), 1, 4 * GROUP);
}
