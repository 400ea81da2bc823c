/* The threads of a store: both begin or nothing is left, and the writer wakes
 * for what comes. The Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include <errno.h>
#include <stdatomic.h>

#include "store/checkpointer.h"
#include "commit/store_state.h"

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument);
bool __real_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns);
bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns);

enum { PATIENCE = 20000 }; /* milliseconds */

static atomic_bool no_checkpointer; /* kx_open starts it after the writer */
static atomic_int threads;          /* begun meanwhile */
static _Atomic(pthread_cond_t *) endless; /* its waits have no limit */
static atomic_int waits;                  /* for that, begun */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument)
{
    if (!atomic_load(&no_checkpointer) || atomic_fetch_add(&threads, 1) == 0)
        return __real_pthread_create(thread, attr, run, argument);
    usleep(100000); /* the writer has had time for its first job */
    return EAGAIN;
}

bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns)
{
    if (cond != atomic_load(&endless))
        return __real_cond_wait_until(cond, lock, until_ns);
    atomic_fetch_add(&waits, 1);
    return pthread_cond_wait(cond, lock) == 0;
}

/* The writer has begun to plan a job, which the store would keep, when the
 * other thread cannot start. */
static void open_fails_cleanly_without_checkpointer_thread(void **state)
{
    struct story *s = *state;
    struct kx_store *store = NULL;
    kx_clock_set(1000000);
    assert_int_equal(test_set_until(&s->test, s->mem, "[\"a\"]", 1000500),
                     KX_OK);
    test_store_close(&s->test);
    kx_clock_set(2000000);
    size_t blocks = talloc_total_blocks(NULL);
    atomic_store(&no_checkpointer, true);
    assert_int_equal(kx_open(&s->test.options, &store, NULL), KX_NO_MEMORY);
    atomic_store(&no_checkpointer, false);
    assert_int_equal(talloc_total_blocks(NULL), blocks);
    test_store_open(&s->test);
    assert_null(test_get(&s->test, s->mem, "[\"a\"]"));
}

/* The writer sleeps until the next expiry that it knows; the new one is
 * earlier. */
static void writer_wakes_for_earlier_expiry(void **state)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"a\"]"),
                                   .value = test_json("1"),
                                   .expires_at_ms = kx_now_ms() + 60000};
    bool done = false;
    struct kx_commit commit = {.mutations = &mutation,
                               .mutation_count = 1,
                               .memory = s->mem,
                               .ticket.owner = &done};
    atomic_store(&waits, 0);
    atomic_store(&endless, &s->test.store->queue.work);
    for (int ms = 0; ms < PATIENCE && atomic_load(&waits) == 0; ms++)
        usleep(1000);
    assert_int_equal(kx_submit_alone(s->test.store, &commit), KX_OK);
    test_wait(&s->test, &done);
    for (int ms = 0; ms < PATIENCE && atomic_load(&waits) == 1; ms++)
        usleep(1000);
    atomic_store(&endless, NULL);
    assert_int_not_equal(atomic_load(&waits), 1);
}

int main(void)
{
    talloc_enable_null_tracking();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            open_fails_cleanly_without_checkpointer_thread, begin, finish),
        cmocka_unit_test_setup_teardown(writer_wakes_for_earlier_expiry, begin,
                                        finish),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    talloc_disable_null_tracking();
    return failed;
}
