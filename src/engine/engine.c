/* Calls that are the same for every engine. */
#include "engine/engine.h"

enum kx_status engine_write_now(struct engine *engine,
                                const struct row_write *writes, size_t count)
{
    struct engine_batch batch = {.writes = writes, .count = count};
    enum kx_status status = engine_apply(engine, &batch);
    return status == KX_OK ? engine_flush(engine) : status;
}
