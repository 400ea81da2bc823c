/* Calls that are the same for every engine. */
#include "engine/engine.h"

#include <talloc.h>

enum kx_status engine_write_now(struct engine *engine,
                                const struct row_write *writes, size_t count)
{
    struct engine_batch batch = {.writes = writes, .count = count};
    enum kx_status status = engine_apply(engine, &batch);
    return status == KX_OK ? engine_flush(engine) : status;
}

enum kx_status engine_each(void *mem, struct engine_view *view,
                           const struct engine_span *span, engine_row_fn *take,
                           void *arg)
{
    struct engine_range *range = NULL;
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status = engine_range_create(mem, view, span->table, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, span->start, span->end);
    while (status == KX_OK &&
           (status = engine_range_next(range, &key, &value)) == KX_OK)
        status = take(arg, key, value);
    engine_range_end(range);
    talloc_free(range);
    return status == KX_END ? KX_OK : status;
}
