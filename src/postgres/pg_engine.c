/* The table of calls, opening and closing. */
#include "postgres/pg_engine.h"

#include <talloc.h>

#include "postgres/pg_apply.h"
#include "postgres/pg_lease.h"
#include "postgres/pg_range.h"

/* What is applied is on disk. */
static enum kx_status flush(struct engine *engine)
{
    return atomic_load(&pg_engine_of(engine)->failed) ? KX_FAILED : KX_OK;
}

static bool failed(const struct engine *engine)
{
    return atomic_load(&pg_engine_of(engine)->failed);
}

/* The database says so when a batch has no space. */
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
    .space = space,
    .view_open = pg_view_open,
    .view_end = pg_view_end,
    .get = pg_view_get,
    .get_head = pg_view_head,
    .prefetch = pg_view_prefetch,
    .share = pg_view_share,
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

enum kx_status pg_engine_open(void *mem, const struct kx_options *options,
                              struct engine **engine_out,
                              struct kx_fault *fault)
{
    struct pg_engine *engine = talloc_zero(mem, struct pg_engine);
    struct kx_fault why = {.status = KX_OK};
    if (engine == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    talloc_set_destructor(engine, finish);
    engine->engine.calls = &CALLS;
    engine->conn.target = &engine->target;
    engine->conn.context = engine;
    uuid_make(engine->holder);
    enum kx_status status =
        pg_target_read(engine, options, &engine->target, &why);
    if (status == KX_OK)
        status = pg_conn_open(&engine->conn, &why);
    if (status == KX_OK)
        status = pg_lease_take(engine, &why);
    if (status != KX_OK) {
        if (fault != NULL)
            *fault = why;
        talloc_free(engine);
        return status;
    }
    engine->conn.ready = pg_lease_resume;
    *engine_out = &engine->engine;
    return KX_OK;
}

void pg_engine_close(struct engine *base)
{
    struct pg_engine *engine = pg_engine_of(base);
    pg_lease_release(engine);
    talloc_free(engine);
}
