/* Single reads while a batch is being applied: a cached entry is read in its
 * state before the batch, another one waits for the batch. The Makefile puts
 * __wrap_X where the core calls X. */
#include "store.h"

#include <semaphore.h>
#include <stdatomic.h>

enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __real_env_flush(struct env *env);
enum kx_status __wrap_env_flush(struct env *env);

/* The next batch stops after its rows are in the tables, then before its flush.
 */
static atomic_bool stops_applied;
static atomic_bool stops_at_flush;
static sem_t reached;
static sem_t go_on;

static void stop_once(atomic_bool *stops)
{
    if (!atomic_exchange(stops, false))
        return;
    sem_post(&reached);
    sem_wait(&go_on);
}

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    enum kx_status status = __real_txn_apply(env, writes, count, order);
    stop_once(&stops_applied);
    return status;
}

enum kx_status __wrap_env_flush(struct env *env)
{
    stop_once(&stops_at_flush);
    return __real_env_flush(env);
}

/* A read on its own thread. */
struct look {
    struct kx_reader *reader;
    struct kx_slice key;
    struct kx_buffer record;
    struct kx_entry entry;
    struct kx_fault fault;
    uint64_t flush;
    atomic_bool begun;
    atomic_bool ended;
    pthread_t thread;
};

static void *run_look(void *target)
{
    struct look *look = target;
    atomic_store(&look->begun, true);
    look->flush = kx_read_alone(look->reader, look->key, &look->record,
                                &look->entry, &look->fault);
    atomic_store(&look->ended, true);
    return NULL;
}

static struct look *begin_look(struct story *s, const char *key)
{
    struct look *look = talloc_zero(s->mem, struct look);
    look->key = test_key(s->mem, key);
    kx_buffer_init(&look->record, look);
    assert_int_equal(kx_reader_open(s->test.store, &look->reader), KX_OK);
    assert_int_equal(pthread_create(&look->thread, NULL, run_look, look), 0);
    return look;
}

static void end_look(struct look *look)
{
    pthread_join(look->thread, NULL);
    kx_reader_close(look->reader);
}

/* A look that does not wait has ended long before. */
static bool stays_waiting(const struct look *look)
{
    while (!atomic_load(&look->begun))
        sched_yield();
    for (int i = 0; i < 100000; i++)
        sched_yield();
    return !atomic_load(&look->ended);
}

/* The whole look: the value, or NULL. */
static const char *look_at(struct story *s, const char *key,
                           uint64_t *flush_out)
{
    struct look *look = begin_look(s, key);
    end_look(look);
    *flush_out = look->flush;
    if (look->fault.status != KX_OK)
        return NULL;
    return talloc_strndup(s->mem, (const char *)look->entry.value.data.data,
                          look->entry.value.data.size);
}

struct stopped_commit {
    struct kx_mutation mutation;
    struct kx_commit commit;
    bool answered;
};

/* A commit that stops where it is to stop. */
static void begin_change(struct story *s, struct stopped_commit *change,
                         const char *key, const char *value)
{
    *change = (struct stopped_commit){.mutation.type = KX_SET};
    change->mutation.key = test_key(s->mem, key);
    change->mutation.value = test_json(value);
    change->commit = (struct kx_commit){.mutations = &change->mutation,
                                        .mutation_count = 1,
                                        .memory = s->mem,
                                        .ticket.owner = &change->answered};
    assert_int_equal(kx_submit(s->test.store, &change->commit), KX_OK);
    sem_wait(&reached);
}

static void end_change(struct story *s, struct stopped_commit *change)
{
    sem_post(&go_on);
    test_wait(&s->test, &change->answered);
    assert_int_equal(change->commit.status, KX_OK);
}

static int begin_stops(void **state)
{
    sem_init(&reached, 0, 0);
    sem_init(&go_on, 0, 0);
    return begin(state);
}

TEST_WITH(cached_entry_is_read_in_its_old_state, begin_stops, finish)
{
    struct story *s = *state;
    struct stopped_commit change;
    uint64_t flush = 1;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_set(&s->test, s->mem, "[\"b\"]", "\"other\"");
    atomic_store(&stops_applied, true);
    begin_change(s, &change, "[\"a\"]", "2");
    assert_string_equal(look_at(s, "[\"a\"]", &flush), "1");
    assert_int_equal(flush, 0);
    assert_string_equal(look_at(s, "[\"b\"]", &flush), "\"other\"");
    assert_int_equal(flush, 0);
    atomic_store(&stops_at_flush, true);
    sem_post(&go_on);
    sem_wait(&reached);
    assert_string_equal(look_at(s, "[\"a\"]", &flush), "2");
    assert_int_not_equal(flush, 0);
    assert_string_equal(look_at(s, "[\"b\"]", &flush), "\"other\"");
    assert_int_equal(flush, 0);
    end_change(s, &change);
    assert_string_equal(look_at(s, "[\"a\"]", &flush), "2");
    assert_int_equal(flush, 0);
}

TEST_WITH(cached_entry_that_has_expired_is_absent, begin_stops, finish)
{
    struct story *s = *state;
    struct stopped_commit change;
    uint64_t flush = 1;
    kx_clock_set(1000000);
    test_set_until(&s->test, s->mem, "[\"a\"]", 1000500);
    atomic_store(&stops_applied, true);
    begin_change(s, &change, "[\"b\"]", "2");
    assert_string_equal(look_at(s, "[\"a\"]", &flush), "1");
    kx_clock_set(1000500);
    assert_null(look_at(s, "[\"a\"]", &flush));
    end_change(s, &change);
}

/* Only the table can show that an entry is absent, and it is closed until the
 * batch ends; the parked reads are then answered. */
TEST_WITH(read_of_an_uncached_entry_waits_for_the_batch, begin_stops, finish)
{
    struct story *s = *state;
    struct stopped_commit change;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    atomic_store(&stops_applied, true);
    begin_change(s, &change, "[\"new\"]", "2");
    struct look *look = begin_look(s, "[\"new\"]");
    bool opened = false;
    struct kx_ticket ticket = {.owner = &opened};
    end_look(look);
    assert_int_equal(look->fault.status, KX_AGAIN);
    assert_false(kx_read_try_hold(s->test.reader));
    assert_false(kx_read_hold(s->test.reader, &ticket));
    end_change(s, &change);
    test_wait(&s->test, &opened);
    assert_true(kx_read_hold(s->test.reader, &ticket));
    kx_read_hold_done(s->test.store);
    assert_string_equal(test_get(&s->test, s->mem, "[\"new\"]"), "2");
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "1");
    kx_read_release(s->test.reader);
}

/* No read may look at the catalog while it changes. */
TEST_WITH(change_of_an_index_keeps_peeks_out, begin_stops, finish)
{
    struct story *s = *state;
    struct kx_commit declare = {
        .command.kind = KX_DECLARE_INDEX,
        .command.declaration = kx_text(
            "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}"),
        .memory = s->mem};
    bool answered = false;
    declare.ticket.owner = &answered;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    atomic_store(&stops_applied, true);
    assert_int_equal(kx_submit(s->test.store, &declare), KX_OK);
    sem_wait(&reached);
    struct look *look = begin_look(s, "[\"a\"]");
    bool waits = stays_waiting(look);
    sem_post(&go_on);
    end_look(look);
    test_wait(&s->test, &answered);
    assert_true(waits);
    assert_int_equal(look->fault.status, KX_OK);
    assert_true(kx_equal(look->entry.value.data, kx_text("1")));
}
