/* Compaction beside readers: it rests so long after a step for which somebody
 * had to wait that hardly any reader finds one, and it continues all the same.
 * The Makefile puts __wrap_compact_rows where the core calls compact_rows. */
#include "store.h"

#include <sched.h>

#include "bdb/compact.h"
#include "commit/store_state.h"

enum {
    ENTRIES = 8000, /* together more than the pages that are worth it */
    COMMIT = 500,
    STEPS = 4, /* looked at */
    REST = 100 /* of tidy.c, in times of the step before */
};

static struct {
    struct kx_store *store; /* NULL: steps are not looked at */
    pthread_t readers[STEPS];
    uint64_t began_ns[STEPS];
    uint64_t ended_ns[STEPS];
    atomic_int steps;
} seen;

enum kx_status __real_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step);
enum kx_status __wrap_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step);

static void *read_once(void *argument)
{
    struct kx_reader *reader = NULL;
    assert_int_equal(kx_reader_open(seen.store, &reader), KX_OK);
    kx_read_begin(reader);
    kx_read_end(reader);
    kx_reader_close(reader);
    return argument;
}

/* While the view is closed: somebody comes and has to wait. */
static void begin_step(int step)
{
    seen.began_ns[step] = kx_monotonic_ns();
    assert_int_equal(pthread_create(&seen.readers[step], NULL, read_once, NULL),
                     0);
    while (!view_was_requested(&seen.store->view))
        sched_yield();
}

/* On the writer's thread. */
enum kx_status __wrap_compact_rows(struct env *env, enum table table,
                                   struct compact_step *step)
{
    int number = atomic_load(&seen.steps);
    bool looked_at = seen.store != NULL && number < STEPS;
    if (looked_at)
        begin_step(number);
    enum kx_status status = __real_compact_rows(env, table, step);
    if (looked_at) {
        seen.ended_ns[number] = kx_monotonic_ns();
        atomic_store(&seen.steps, number + 1);
    }
    return status;
}

static const char *kilobyte(void *mem, int n)
{
    return talloc_asprintf(mem, "\"%01022d\"", n);
}

static void fill(struct story *s)
{
    for (int n = 0; n < ENTRIES; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, kilobyte);
}

static uint64_t compactions(struct story *s)
{
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    return figures.compactions;
}

TEST_WITH(compaction_pauses_while_views_wait, begin, finish)
{
    struct story *s = *state;
    seen.store = s->test.store;
    fill(s);
    while (atomic_load(&seen.steps) < STEPS)
        usleep(1000);
    for (int i = 0; i < STEPS; i++)
        pthread_join(seen.readers[i], NULL);
    for (int i = 1; i < STEPS; i++) {
        uint64_t took_ns = seen.ended_ns[i - 1] - seen.began_ns[i - 1];
        uint64_t rest_ns = seen.began_ns[i] - seen.ended_ns[i - 1];
        assert_true(rest_ns >= REST * took_ns);
    }
}

TEST_WITH(compaction_completes_without_readers, begin, finish)
{
    struct story *s = *state;
    seen.store = NULL;
    fill(s);
    while (compactions(s) == 0)
        usleep(10000);
}
