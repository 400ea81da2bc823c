/* Which of several watches of a queue's jobs is answered, and that a job left
 * to a watch is passed on when that watch is closed. */
#include "waiter.h"

#define QUEUE                                                                  \
    "{\"name\":\"jobs_due\",\"prefix\":[\"jobs\"],"                            \
    "\"fields\":[\"/kind\",\"/due\"],\"queue\":{}}"

enum { WAITERS = 4, LATER_MS = 3600000 };

static void open_jobs(struct story *s, struct waiter *waiter,
                      const char *prefix)
{
    *waiter = (struct waiter){.ticket.owner = &waiter->told};
    assert_int_equal(
        kx_watch_open_prefix(s->test.store, test_key(s->mem, prefix),
                             KX_WATCH_JOBS, s->mem, &waiter->watch),
        KX_OK);
    assert_int_equal(wait_for(waiter), KX_OK);
}

static void open_all(struct story *s, struct waiter *waiters)
{
    assert_int_equal(test_declare(&s->test, s->mem, QUEUE), KX_OK);
    for (int i = 0; i < WAITERS; i++)
        open_jobs(s, &waiters[i], "[\"jobs_due\"]");
}

static void put_job(struct story *s, int n, int64_t due_ms)
{
    const char *key = talloc_asprintf(s->mem, "[\"jobs\",%d]", n);
    const char *value = talloc_asprintf(s->mem, "{\"kind\":\"a\",\"due\":%lld}",
                                        (long long)due_ms);
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
}

TEST_WITH(each_job_answers_one_watch_the_longest_waiting_first, begin,
          finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    open_all(s, waiters);
    put_job(s, 1, 0);
    is_told(s, &waiters[0]);
    put_job(s, 2, 0);
    is_told(s, &waiters[1]);
    is_not_told(s, &waiters[2]);
    is_not_told(s, &waiters[3]);
}

TEST_WITH(values_of_leading_fields_select_the_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    struct waiter other;
    struct waiter same;
    open_all(s, waiters);
    open_jobs(s, &other, "[\"jobs_due\",\"b\"]");
    open_jobs(s, &same, "[\"jobs_due\",\"a\"]");
    put_job(s, 1, 0);
    is_told(s, &same);
    is_told(s, &waiters[0]);
    is_not_told(s, &other);
}

TEST_WITH(removed_job_answers_no_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    assert_int_equal(test_declare(&s->test, s->mem, QUEUE), KX_OK);
    put_job(s, 1, 0);
    open_jobs(s, &waiters[0], "[\"jobs_due\"]");
    test_delete(&s->test, s->mem, "[\"jobs\",1]");
    is_not_told(s, &waiters[0]);
}

TEST_WITH(closed_watch_passes_its_job_on, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    open_all(s, waiters);
    put_job(s, 1, 0);
    is_told(s, &waiters[0]);
    kx_watch_close(waiters[0].watch);
    is_told(s, &waiters[1]);
    kx_watch_claimed(waiters[1].watch, true, 0);
    kx_watch_close(waiters[1].watch);
    is_told(s, &waiters[2]);
    kx_watch_claimed(waiters[2].watch, false, 0);
    kx_watch_close(waiters[2].watch);
    is_not_told(s, &waiters[3]);
}

TEST_WITH(job_that_is_due_later_concerns_one_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    int64_t later_ms = kx_now_ms() + LATER_MS;
    open_all(s, waiters);
    put_job(s, 1, later_ms);
    is_told(s, &waiters[0]);
    assert_true(kx_watch_claimed(waiters[0].watch, false, later_ms));
    waiters[0].told = false;
    assert_int_equal(wait_for(&waiters[0]), KX_OK);
    put_job(s, 2, later_ms + 1);
    put_job(s, 3, 0);
    is_told(s, &waiters[1]);
    assert_false(kx_watch_claimed(waiters[1].watch, false, later_ms));
    put_job(s, 4, later_ms - 1);
    is_told(s, &waiters[2]);
    assert_true(kx_watch_claimed(waiters[2].watch, false, later_ms - 1));
    kx_watch_close(waiters[2].watch);
    is_told(s, &waiters[3]);
    is_not_told(s, &waiters[0]);
}

TEST_WITH(job_that_comes_while_all_watches_claim_is_not_missed, begin,
          finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[WAITERS];
    assert_int_equal(test_declare(&s->test, s->mem, QUEUE), KX_OK);
    open_jobs(s, &waiters[0], "[\"jobs_due\"]");
    put_job(s, 1, 0);
    is_told(s, &waiters[0]);
    put_job(s, 2, 0);
    kx_watch_claimed(waiters[0].watch, false, 0);
    assert_int_equal(wait_for(&waiters[0]), KX_END);
    assert_int_equal(wait_for(&waiters[0]), KX_OK);
    is_not_told(s, &waiters[0]);
}
