/* The engine's table of calls; opening and closing. */
#include "postgres/pg_engine.h"

#include <talloc.h>

#include "postgres/pg_apply.h"
#include "postgres/pg_lease.h"
#include "postgres/pg_view.h"

/* Does nothing: what is applied is on disk, even if the lease is lost later. */
static enum kx_status flush(struct engine *engine)
{
    (void)engine;
    return KX_OK;
}

static bool failed(const struct engine *engine)
{
    return atomic_load(&pg_engine_of(engine)->failed);
}

static bool holds(const struct engine *engine)
{
    return pg_lease_holds(pg_engine_of(engine));
}

static uint64_t epoch(const struct engine *engine)
{
    return atomic_load(&pg_engine_of(engine)->epoch);
}

/* Reads the batch first: the epoch is then at least that of the batch. */
static struct kx_position position(const struct engine *base)
{
    const struct pg_engine *engine = pg_engine_of(base);
    struct kx_position position = {.batch = atomic_load(&engine->batch)};
    position.epoch = atomic_load(&engine->epoch);
    return position;
}

/* Always enough: the database reports a lack of space when a batch fails. */
static enum engine_space space(const struct engine *engine)
{
    (void)engine;
    return SPACE_ENOUGH;
}

static const struct engine_calls CALLS = {
    .remote = true,
    .apply = pg_apply,
    .apply_part = pg_apply_part,
    .take_back = pg_apply_take_back,
    .flush = flush,
    .failed = failed,
    .holds = holds,
    .epoch = epoch,
    .position = position,
    .view_position = pg_view_position,
    .space = space,
    .view_open = pg_view_open,
    .view_limit = pg_view_limit,
    .view_end = pg_view_end,
    .get = pg_view_get,
    .get_head = pg_view_head,
    .prefetch = pg_view_prefetch,
    .share = pg_view_share,
    .find_share = pg_view_find_share,
    .range_create = pg_range_create,
    .range_begin = pg_range_begin,
    .range_next = pg_range_next,
    .range_peek = pg_range_peek,
    .range_bytes = pg_range_bytes,
    .range_find = pg_range_find,
    .range_seek = pg_range_seek,
    .range_end = pg_range_end,
};

static int finish(struct pg_engine *engine)
{
    pg_conn_close(&engine->conn);
    return 0;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Making the tables may wait for another node that makes them; what follows
 * must finish before the lease expires. */
static enum kx_status connect(void *mem, const struct kx_options *options,
                              bool upgrade, struct pg_engine **engine_out,
                              struct kx_fault *fault)
{
    struct pg_engine *engine = talloc_zero(mem, struct pg_engine);
    struct kx_fault why = {.status = KX_OK};
    if (engine == NULL) {
        kx_fail(fault, KX_NO_MEMORY, "no memory");
        return KX_NO_MEMORY;
    }
    talloc_set_destructor(engine, finish);
    engine->engine.calls = &CALLS;
    engine->conn.target = &engine->target;
    engine->conn.best = true;
    engine->conn.context = engine;
    engine->node = text_or_empty(options->node);
    engine->address = text_or_empty(options->advertise);
    engine->joined_ns = kx_monotonic_ns();
    uuid_make(engine->holder);
    enum kx_status status =
        pg_lease_create(engine)
            ? pg_target_read(engine, options, &engine->target, &why)
            : kx_fail(&why, KX_NO_MEMORY, "no memory");
    if (status == KX_OK)
        status = pg_conn_open(&engine->conn, &why);
    if (status == KX_OK)
        status = pg_lease_make_tables(engine, upgrade, &why);
    engine->conn.patience_ms = KX_LEASE_MS;
    if (status != KX_OK) {
        if (fault != NULL)
            *fault = why;
        talloc_free(engine);
        return status;
    }
    *engine_out = engine;
    return KX_OK;
}

enum kx_status pg_engine_join(void *mem, const struct kx_options *options,
                              struct engine **engine_out,
                              struct kx_fault *fault)
{
    struct pg_engine *engine;
    enum kx_status status = connect(mem, options, false, &engine, fault);
    if (status == KX_OK)
        *engine_out = &engine->engine;
    return status;
}

enum kx_status kx_cluster_upgrade(const struct kx_options *options,
                                  struct kx_fault *fault)
{
    struct pg_engine *engine;
    enum kx_status status = connect(NULL, options, true, &engine, fault);
    if (status == KX_OK)
        talloc_free(engine);
    return status;
}

enum kx_status kx_cluster_accept(const struct kx_options *options, bool dry_run,
                                 struct kx_loss *loss_out,
                                 struct kx_fault *fault)
{
    struct pg_engine *engine;
    enum kx_status status = connect(NULL, options, false, &engine, fault);
    if (status != KX_OK)
        return status;
    status = pg_nodes_accept_lost(engine, dry_run, loss_out);
    if (status != KX_OK && fault != NULL)
        *fault = engine->conn.fault;
    talloc_free(engine);
    return status;
}

bool pg_engine_cluster(struct engine *engine, struct kx_cluster *cluster_out)
{
    return pg_nodes_known(pg_engine_of(engine), cluster_out);
}

bool pg_engine_commits_wait(const struct engine *engine)
{
    return atomic_load(&pg_engine_of(engine)->commits_wait);
}

bool pg_engine_leaps(const struct engine *engine)
{
    return pg_engine_of(engine)->leaps;
}

enum kx_status pg_engine_leapt(struct engine *engine)
{
    return pg_nodes_forget_lost(pg_engine_of(engine));
}

void pg_engine_step_down(struct engine *engine)
{
    pg_engine_of(engine)->stepping_down = true;
}

enum kx_status pg_engine_take(struct engine *base, struct kx_holder *holder_out,
                              struct kx_fault *fault)
{
    struct pg_engine *engine = pg_engine_of(base);
    struct kx_fault why = {.status = KX_OK};
    pg_conn_follow(&engine->conn);
    enum kx_status status = pg_conn_open(&engine->conn, &why);
    if (status == KX_OK)
        status = pg_lease_take(engine, holder_out, &why);
    if (status == KX_OK) {
        engine->conn.ready = pg_lease_resume;
        engine->conn.patience_ms = 0;
        if (!pg_keeper_start(engine->keeper))
            status = kx_fail(&why, KX_NO_MEMORY, "cannot start a thread");
    }
    if (status != KX_OK && fault != NULL)
        *fault = why;
    return status;
}

/* Gives nothing back if this process does not have the lease. */
void pg_engine_leave(struct engine *base)
{
    struct pg_engine *engine = pg_engine_of(base);
    pg_keeper_stop(engine->keeper);
    pg_lease_release(engine);
}

void pg_engine_close(struct engine *base)
{
    pg_engine_leave(base);
    talloc_free(pg_engine_of(base));
}
