/* Compaction by Berkeley DB's own means, a part of the table at a time, in
 * transactions of the library's own. It moves rows and changes none, so a crash
 * at any point is harmless. */
#include "compact.h"

#include <stdlib.h>

#include "engine.h"

/* Some room is left, so that the next writes do not split every page. */
enum { FILL_PERCENT = 95 };

enum kx_status compact_rows(struct env *env, enum table table,
                            struct kx_slice start, struct kx_slice stop,
                            bool shrink)
{
    DB *db = env->tables[table];
    DBT first = engine_in(start);
    DBT last = engine_in(stop);
    DB_COMPACT options = {.compact_fillpercent = FILL_PERCENT};
    int error = db->compact(db, NULL, start.size == 0 ? NULL : &first,
                            stop.size == 0 ? NULL : &last, &options,
                            shrink ? DB_FREE_SPACE : 0, NULL);
    return engine_status(env, error, "compact");
}

uint64_t compact_pages(struct env *env, enum table table)
{
    DB *db = env->tables[table];
    DB_BTREE_STAT *stat = NULL;
    if (db->stat(db, NULL, &stat, DB_FAST_STAT) != 0)
        return 0;
    uint64_t pages = stat->bt_pagecnt;
    free(stat);
    return pages;
}
