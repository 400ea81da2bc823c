/* How long the writer waits for more commits. The Makefile puts
 * __wrap_cond_wait_until where the core waits. In place of the clock, the test
 * decides when the wait for more commits ends. */
#include "store.h"

#include <semaphore.h>

#include "commit/store_state.h"

bool __real_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns);
bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns);

enum { MANY = COMMIT_DELAY_COMMITS };

static struct {
    _Atomic(pthread_cond_t *) cond; /* the writer's; NULL: unknown yet */
    sem_t begun;                    /* once for each wait */
    bool late;                      /* its time ends at once */
} waiting;

bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns)
{
    if (cond != waiting.cond)
        return __real_cond_wait_until(cond, lock, until_ns);
    sem_post(&waiting.begun);
    return !waiting.late && pthread_cond_wait(cond, lock) == 0;
}

static int waits(void)
{
    int count = 0;
    sem_getvalue(&waiting.begun, &count);
    return count;
}

struct sent {
    struct kx_mutation mutation;
    struct kx_commit commit;
    bool told;
};

static void send(struct story *s, struct sent *sent)
{
    *sent = (struct sent){.mutation = {.type = KX_SET,
                                       .key = test_key(s->mem, "[\"a\"]"),
                                       .value = test_json("1")}};
    sent->commit = (struct kx_commit){.mutations = &sent->mutation,
                                      .mutation_count = 1,
                                      .memory = s->mem,
                                      .ticket.owner = &sent->told};
    assert_int_equal(kx_submit(s->test.store, &sent->commit), KX_OK);
}

static bool is_told(struct story *s, const struct sent *sent)
{
    pthread_mutex_lock(&s->test.lock);
    bool told = sent->told;
    pthread_mutex_unlock(&s->test.lock);
    return told;
}

static uint64_t flushes(struct story *s)
{
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    return figures.flushes;
}

static int watched(void **state)
{
    int failed = begin(state);
    struct story *s = *state;
    sem_init(&waiting.begun, 0, 0);
    waiting.late = false;
    waiting.cond = &s->test.store->queue.enough;
    return failed;
}

TEST_WITH(writer_waits_for_enough_expected_commits, watched, finish)
{
    struct story *s = *state;
    struct sent sent[MANY];
    uint64_t before = flushes(s);
    kx_commits_expected(s->test.store);
    send(s, &sent[0]);
    sem_wait(&waiting.begun);
    for (int i = 1; i < MANY; i++) {
        assert_false(is_told(s, &sent[0]));
        send(s, &sent[i]);
    }
    for (int i = 0; i < MANY; i++)
        test_wait(&s->test, &sent[i].told);
    assert_int_equal(flushes(s), before + 1);
    kx_commits_done(s->test.store);
}

TEST_WITH(writer_stops_waiting_when_no_thread_has_work, watched, finish)
{
    struct story *s = *state;
    struct sent sent;
    kx_commits_expected(s->test.store);
    kx_commits_expected(s->test.store);
    send(s, &sent);
    sem_wait(&waiting.begun);
    kx_commits_done(s->test.store);
    assert_false(is_told(s, &sent));
    kx_commits_done(s->test.store);
    test_wait(&s->test, &sent.told);
}

TEST_WITH(writer_waits_a_limited_time, watched, finish)
{
    struct story *s = *state;
    struct sent sent;
    waiting.late = true;
    kx_commits_expected(s->test.store);
    send(s, &sent);
    test_wait(&s->test, &sent.told);
    assert_int_equal(waits(), 1);
    kx_commits_done(s->test.store);
}

TEST_WITH(writer_does_not_wait_after_a_large_batch, watched, finish)
{
    struct story *s = *state;
    struct sent sent[MANY + 1];
    kx_commits_expected(s->test.store);
    for (int i = 0; i < MANY; i++)
        send(s, &sent[i]);
    for (int i = 0; i < MANY; i++)
        test_wait(&s->test, &sent[i].told);
    int before = waits();
    send(s, &sent[MANY]);
    test_wait(&s->test, &sent[MANY].told);
    assert_int_equal(waits(), before);
    kx_commits_done(s->test.store);
}

TEST_WITH(writer_does_not_wait_for_unannounced_commits, watched, finish)
{
    struct story *s = *state;
    struct sent sent;
    send(s, &sent);
    test_wait(&s->test, &sent.told);
    assert_int_equal(waits(), 0);
}
