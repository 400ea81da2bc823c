/* Copies the page, because the cache may evict it. */
#include "bdb/page_read.h"

#include "bdb/bdb.h"

enum kx_status page_read(struct env *env, enum table table,
                         struct page_part part, void *out)
{
    DB_MPOOLFILE *pool = env->tables[table]->get_mpf(env->tables[table]);
    const uint8_t *bytes = NULL;
    db_pgno_t number = part.page;
    int error = pool->get(pool, &number, NULL, 0, (void *)&bytes);
    if (error != 0)
        return bdb_status(env, error, "page");
    memcpy(out, bytes + part.at, part.size);
    error = pool->put(pool, (void *)bytes, DB_PRIORITY_UNCHANGED, 0);
    return bdb_status(env, error, "page");
}
