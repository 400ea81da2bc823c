/* The wait between two renewals is by the monotonic clock. */
#include "postgres/pg_keeper.h"

#include <pthread.h>
#include <talloc.h>

#include "base/cond_wait.h"
#include "postgres/pg_lease.h"
#include "postgres/pg_nodes.h"

enum { RENEW_MS = 500 };

struct pg_keeper {
    struct pg_engine *engine;
    struct pg_conn conn;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop; /* under `lock` */
};

/* False: the thread is to end. */
static bool wait_for_next(struct pg_keeper *keeper)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)RENEW_MS * KX_MS_NS;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->stop &&
           cond_wait_until(&keeper->stopped, &keeper->lock, until_ns))
        ;
    bool stop = keeper->stop;
    pthread_mutex_unlock(&keeper->lock);
    return !stop;
}

static void *run(void *argument)
{
    struct pg_keeper *keeper = argument;
    pthread_setname_np(pthread_self(), "lease");
    while (wait_for_next(keeper) && !atomic_load(&keeper->engine->failed)) {
        pg_lease_renew(keeper->engine, &keeper->conn);
        pg_nodes_beat(keeper->engine, &keeper->conn, "active");
    }
    pg_conn_close(&keeper->conn);
    return NULL;
}

struct pg_keeper *pg_keeper_start(struct pg_engine *engine)
{
    struct pg_keeper *keeper = talloc_zero(engine, struct pg_keeper);
    if (keeper == NULL)
        return NULL;
    keeper->engine = engine;
    keeper->conn =
        (struct pg_conn){.target = &engine->target, .patience_ms = KX_LEASE_MS};
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->stopped, NULL);
    if (pthread_create(&keeper->thread, NULL, run, keeper) == 0)
        return keeper;
    talloc_free(keeper);
    return NULL;
}

void pg_keeper_stop(struct pg_keeper *keeper)
{
    if (keeper == NULL)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->stop = true;
    pthread_cond_signal(&keeper->stopped);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->stopped);
    pthread_mutex_destroy(&keeper->lock);
    talloc_free(keeper);
}
