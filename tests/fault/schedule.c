/* One lock guards the state here. Each strand, which is a thread of the
 * schedule, sleeps on its own condition until its turn. The program's locks
 * remain real, but they are only tried: a strand that does not get one waits
 * here until the lock is released. */
#include "schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kindex/clock.h"
#include "kindex/status.h"
#include "unit.h"

struct env;

#define WRAPPED(type, name, ...)                                               \
    type __real_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(int, pthread_create, pthread_t *, const pthread_attr_t *,
        void *(*)(void *), void *);
WRAPPED(int, pthread_join, pthread_t, void **);
WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *);
WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *);
WRAPPED(int, pthread_cond_wait, pthread_cond_t *, pthread_mutex_t *);
WRAPPED(int, pthread_cond_clockwait, pthread_cond_t *, pthread_mutex_t *,
        clockid_t, const struct timespec *);
WRAPPED(int, pthread_cond_signal, pthread_cond_t *);
WRAPPED(int, pthread_cond_broadcast, pthread_cond_t *);
WRAPPED(int, pthread_rwlock_rdlock, pthread_rwlock_t *);
WRAPPED(int, pthread_rwlock_wrlock, pthread_rwlock_t *);
WRAPPED(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *);
WRAPPED(int, pthread_rwlock_unlock, pthread_rwlock_t *);
WRAPPED(int, usleep, useconds_t);
WRAPPED(uint64_t, kx_monotonic_ns, void);
WRAPPED(int64_t, kx_now_ms, void);
WRAPPED(enum kx_status, env_flush, struct env *);

enum {
    STRANDS_MAX = 64,
    TICK_NS = 1000,    /* simulated time of a turn or a reading of the clock */
    FLUSH_NS = 100000, /* longest simulated flush */
    HURRY = 64,        /* one turn in HURRY ends a wait early */
    TURNS_MAX = 50000, /* of one seed; more: the schedule does not end */
    STUCK_S = 60       /* real time for one seed */
};

static const uint64_t NEVER_NS = UINT64_MAX;
static const int64_t BEGIN_MS = 1700000000000;

enum strand_state { READY, WAITS, DONE };

struct strand {
    pthread_t thread;
    pthread_cond_t turn;
    enum strand_state state;
    const void *on;    /* the lock or condition that it waits for; NULL: none */
    bool writes;       /* it waits for the lock as a writer */
    uint64_t until_ns; /* end of its wait; NEVER_NS: none */
    bool timed_out;
    void *(*run)(void *);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct strand strands[STRANDS_MAX];
static size_t strand_count;
static size_t running;
static uint64_t seed; /* of this schedule */
static uint64_t random_state;
static unsigned patience; /* a turn passes at one of `patience` places */
static uint64_t now_ns;
static size_t turns;
static uint64_t digest;
static void (*flush_begun)(void);
static void (*flush_done)(void);
static _Thread_local struct strand *me;

/* The bounds of the program's static data. Static locks are taken inside calls
 * of Berkeley DB, so they are not scheduled. */
extern char __data_start, _end;

static bool is_static(const void *at)
{
    return (const char *)at >= &__data_start && (const char *)at < &_end;
}

void schedule_found(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("found: seed %" PRIu64 ": ", seed);
    vprintf(format, list);
    printf("\nagain: %s 1 %" PRIu64 "\n0 passed, 1 failed\n",
           program_invocation_name, seed);
    va_end(list);
    fflush(stdout);
    _exit(1);
}

/* ---- Turns --------------------------------------------------------------- */

static void stuck(void)
{
    for (size_t i = 0; i < strand_count; i++) {
        char name[16] = "";
        if (strands[i].state == DONE)
            continue;
        pthread_getname_np(strands[i].thread, name, sizeof name);
        printf("%s waits%s\n", name, strands[i].writes ? " to write" : "");
    }
    schedule_found("every thread waits for ever");
}

/* A thread is blocked inside Berkeley DB, or runs for ever. */
static void expired(int signal)
{
    (void)signal;
    schedule_found("a thread has not come back for a minute");
}

static size_t list_ready(size_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < strand_count; i++)
        if (strands[i].state == READY)
            list[count++] = i;
    return count;
}

static void end_wait(struct strand *strand)
{
    strand->state = READY;
    strand->timed_out = true;
}

/* Ends the wait that expires first; returns false if no wait expires. */
static bool end_first_wait(void)
{
    struct strand *first = NULL;
    for (size_t i = 0; i < strand_count; i++)
        if (strands[i].state == WAITS && strands[i].until_ns != NEVER_NS &&
            (first == NULL || strands[i].until_ns < first->until_ns))
            first = &strands[i];
    if (first == NULL)
        return false;
    if (now_ns < first->until_ns)
        now_ns = first->until_ns;
    end_wait(first);
    return true;
}

static void end_past_waits(void)
{
    for (size_t i = 0; i < strand_count; i++)
        if (strands[i].state == WAITS && strands[i].until_ns <= now_ns)
            end_wait(&strands[i]);
}

static void choose(void)
{
    size_t list[STRANDS_MAX];
    if (++turns > TURNS_MAX)
        schedule_found("the schedule has no end");
    now_ns += TICK_NS;
    end_past_waits();
    if (random_below(&random_state, HURRY) == 0)
        end_first_wait();
    size_t count = list_ready(list);
    if (count == 0 && end_first_wait())
        count = list_ready(list);
    if (count == 0)
        stuck();
    running = list[random_below(&random_state, count)];
    digest = (digest ^ running) * 1099511628211U;
    __real_pthread_cond_signal(&strands[running].turn);
}

static void await_turn(void)
{
    while (&strands[running] != me)
        __real_pthread_cond_wait(&me->turn, &lock);
}

/* Inside the lock. */
static void give_way(void)
{
    choose();
    await_turn();
}

void schedule_turn(void)
{
    if (me == NULL)
        return;
    __real_pthread_mutex_lock(&lock);
    if (random_below(&random_state, patience) == 0)
        give_way();
    __real_pthread_mutex_unlock(&lock);
}

/* Waits until `on` is woken or the time until_ns; false if the time came first.
 */
static bool wait_on(const void *on, bool writes, uint64_t until_ns)
{
    __real_pthread_mutex_lock(&lock);
    me->on = on;
    me->writes = writes;
    me->until_ns = until_ns;
    me->timed_out = false;
    me->state = WAITS;
    give_way();
    bool woken = !me->timed_out;
    __real_pthread_mutex_unlock(&lock);
    return woken;
}

/* Inside the lock. Wakes all strands that wait for `on`, or one of them. */
static void wake_locked(const void *on, bool all)
{
    size_t list[STRANDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < strand_count; i++)
        if (strands[i].state == WAITS && strands[i].on == on)
            list[count++] = i;
    if (!all && count > 1) {
        list[0] = list[random_below(&random_state, count)];
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        strands[list[i]].state = READY;
}

static void wake(const void *on, bool all)
{
    __real_pthread_mutex_lock(&lock);
    wake_locked(on, all);
    __real_pthread_mutex_unlock(&lock);
}

/* ---- The schedule ---------------------------------------------------------
 */

static struct strand *add_strand(void)
{
    assert_true(strand_count < STRANDS_MAX);
    struct strand *strand = &strands[strand_count++];
    *strand = (struct strand){.state = READY, .until_ns = NEVER_NS};
    pthread_cond_init(&strand->turn, NULL);
    return strand;
}

void schedule_begin(uint64_t of)
{
    static const unsigned patiences[] = {2, 4, 16};
    seed = of;
    random_state = of;
    patience = patiences[random_below(&random_state, 3)];
    now_ns = KX_SECOND_NS;
    turns = 0;
    digest = 14695981039346656037U;
    strand_count = 0;
    running = 0;
    me = add_strand();
    me->thread = pthread_self();
    signal(SIGALRM, expired);
    alarm(STUCK_S);
}

uint64_t schedule_end(void)
{
    alarm(0);
    for (size_t i = 1; i < strand_count; i++)
        assert_int_equal(strands[i].state, DONE);
    for (size_t i = 0; i < strand_count; i++)
        pthread_cond_destroy(&strands[i].turn);
    me = NULL;
    return digest;
}

void schedule_flushes(void (*begun)(void), void (*done)(void))
{
    flush_begun = begun;
    flush_done = done;
}

/* ---- Threads ---------------------------------------------------------------
 */

static void *run_strand(void *argument)
{
    me = argument;
    __real_pthread_mutex_lock(&lock);
    await_turn();
    __real_pthread_mutex_unlock(&lock);
    void *result = me->run(me->argument);
    __real_pthread_mutex_lock(&lock);
    me->state = DONE;
    wake_locked(me, true);
    choose();
    __real_pthread_mutex_unlock(&lock);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument)
{
    if (me == NULL)
        return __real_pthread_create(thread, attr, run, argument);
    __real_pthread_mutex_lock(&lock);
    struct strand *strand = add_strand();
    strand->run = run;
    strand->argument = argument;
    int error =
        __real_pthread_create(&strand->thread, attr, run_strand, strand);
    *thread = strand->thread;
    if (error != 0)
        strand->state = DONE;
    __real_pthread_mutex_unlock(&lock);
    schedule_turn();
    return error;
}

static const struct strand *strand_of(pthread_t thread)
{
    for (size_t i = strand_count; i > 0; i--)
        if (pthread_equal(strands[i - 1].thread, thread))
            return &strands[i - 1];
    return NULL;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    const struct strand *strand = me != NULL ? strand_of(thread) : NULL;
    while (strand != NULL && strand->state != DONE)
        wait_on(strand, false, NEVER_NS);
    return __real_pthread_join(thread, result);
}

/* ---- Locks ------------------------------------------------------------------
 */

static void lock_mutex(pthread_mutex_t *mutex)
{
    while (pthread_mutex_trylock(mutex) != 0)
        wait_on(mutex, false, NEVER_NS);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (me == NULL)
        return __real_pthread_mutex_lock(mutex);
    if (!is_static(mutex))
        schedule_turn();
    lock_mutex(mutex);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int error = __real_pthread_mutex_unlock(mutex);
    if (me == NULL)
        return error;
    wake(mutex, true);
    if (!is_static(mutex))
        schedule_turn();
    return error;
}

static bool await_signal(pthread_cond_t *cond, pthread_mutex_t *mutex,
                         uint64_t until_ns)
{
    __real_pthread_mutex_unlock(mutex);
    wake(mutex, true);
    bool woken = wait_on(cond, false, until_ns);
    lock_mutex(mutex);
    return woken;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (me == NULL)
        return __real_pthread_cond_wait(cond, mutex);
    await_signal(cond, mutex, NEVER_NS);
    return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  clockid_t clock, const struct timespec *until)
{
    if (me == NULL)
        return __real_pthread_cond_clockwait(cond, mutex, clock, until);
    uint64_t until_ns =
        (uint64_t)until->tv_sec * KX_SECOND_NS + (uint64_t)until->tv_nsec;
    return await_signal(cond, mutex, until_ns) ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    if (me == NULL)
        return __real_pthread_cond_signal(cond);
    wake(cond, false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (me == NULL)
        return __real_pthread_cond_broadcast(cond);
    wake(cond, true);
    return 0;
}

/* A reader does not get past a writer that waits (view.c asks for that). */
static bool has_writer(const pthread_rwlock_t *rwlock)
{
    bool found = false;
    __real_pthread_mutex_lock(&lock);
    for (size_t i = 0; i < strand_count; i++)
        found = found || (strands[i].state == WAITS && strands[i].writes &&
                          strands[i].on == rwlock);
    __real_pthread_mutex_unlock(&lock);
    return found;
}

static bool try_read(pthread_rwlock_t *rwlock)
{
    return !has_writer(rwlock) && __real_pthread_rwlock_tryrdlock(rwlock) == 0;
}

int __wrap_pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
    if (me == NULL)
        return __real_pthread_rwlock_tryrdlock(rwlock);
    schedule_turn();
    bool entered = try_read(rwlock);
    schedule_turn();
    return entered ? 0 : EBUSY;
}

int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
    if (me == NULL)
        return __real_pthread_rwlock_rdlock(rwlock);
    schedule_turn();
    while (!try_read(rwlock))
        wait_on(rwlock, false, NEVER_NS);
    return 0;
}

int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
    if (me == NULL)
        return __real_pthread_rwlock_wrlock(rwlock);
    schedule_turn();
    while (pthread_rwlock_trywrlock(rwlock) != 0)
        wait_on(rwlock, true, NEVER_NS);
    return 0;
}

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
    int error = __real_pthread_rwlock_unlock(rwlock);
    if (me == NULL)
        return error;
    wake(rwlock, true);
    schedule_turn();
    return error;
}

/* ---- Time and the disk
 * -------------------------------------------------------- */

uint64_t __wrap_kx_monotonic_ns(void)
{
    if (me == NULL)
        return __real_kx_monotonic_ns();
    now_ns += TICK_NS;
    return now_ns;
}

int64_t __wrap_kx_now_ms(void)
{
    if (me == NULL)
        return __real_kx_now_ms();
    return BEGIN_MS + (int64_t)(now_ns / KX_MS_NS);
}

static void pass_ns(uint64_t ns)
{
    wait_on(NULL, false, now_ns + ns);
}

int __wrap_usleep(useconds_t us)
{
    if (me == NULL)
        return __real_usleep(us);
    pass_ns(us * UINT64_C(1000));
    return 0;
}

enum kx_status __wrap_env_flush(struct env *env)
{
    if (me == NULL)
        return __real_env_flush(env);
    flush_begun();
    pass_ns(random_below(&random_state, FLUSH_NS));
    enum kx_status status = __real_env_flush(env);
    if (status == KX_OK)
        flush_done();
    schedule_turn();
    return status;
}
