/* Compaction by the library's own calls, in its own transactions. It moves
 * rows and changes none, so a crash at any point is harmless. */
#include "bdb/compact.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bdb/bdb.h"
#include "bdb/page_read.h"

enum {
    /* Leaves some space, so that the next writes do not split every page. */
    FILL_PERCENT = 95,
    LEAVE_PERCENT = 1, /* fuller pages are moved, not merged */

    /* The file is shortened if its number of free pages is in this range. The
     * library leaves some pages each time, so there are several tries. */
    FREE_MIN = 64,
    FREE_MAX = 32768,
    FREE_PART = 4, /* shorten if at least a quarter of the file is free */
    TRIES = 3,

    /* Offsets in the first page of a file and in a free page, the same in all
     * files of the library. */
    META_FREE_AT = 28,
    NEXT_AT = 16
};

/* Bytes of log ever written; 0 if unknown. */
static uint64_t log_bytes(struct env *env)
{
    DB_LOG_STAT *stat = NULL;
    if (env->db->log_stat(env->db, &stat, 0) != 0)
        return 0;
    uint64_t bytes =
        (uint64_t)stat->st_cur_file * stat->st_lg_size + stat->st_cur_offset;
    free(stat);
    return bytes;
}

static DBT *bound(DBT *dbt)
{
    return dbt->size == 0 ? NULL : dbt;
}

enum kx_status compact_rows(struct env *env, enum table table,
                            struct compact_step *step)
{
    DB *db = env->tables[table];
    DBT first = bdb_in(step->start);
    DBT last = bdb_in(step->stop);
    DBT next = {
        .data = step->next, .ulen = sizeof step->next, .flags = DB_DBT_USERMEM};
    DB_COMPACT options = {.compact_fillpercent = FILL_PERCENT,
                          .compact_pages = COMPACT_FREED_MAX};
    uint64_t before = log_bytes(env);
    int error =
        db->compact(db, NULL, bound(&first), bound(&last), &options, 0, &next);
    step->freed = options.compact_pages_free;
    step->logged = log_bytes(env) - before;
    step->next_size = options.compact_pages == 0 ? next.size : 0;
    return bdb_status(env, error, "compact");
}

/* Counts free pages, up to FREE_MAX + 1: each page has the number of the next.
 */
static enum kx_status count_free(struct env *env, enum table table,
                                 uint64_t *count_out)
{
    uint32_t page = 0;
    *count_out = 0;
    enum kx_status status = page_read(
        env, table, (struct page_part){0, META_FREE_AT, sizeof page}, &page);
    while (status == KX_OK && page != 0 && *count_out <= FREE_MAX) {
        ++*count_out;
        status = page_read(
            env, table, (struct page_part){page, NEXT_AT, sizeof page}, &page);
    }
    return status;
}

static enum kx_status move_pages(struct env *env, enum table table)
{
    DB *db = env->tables[table];
    DB_COMPACT options = {.compact_fillpercent = LEAVE_PERCENT};
    int error =
        db->compact(db, NULL, NULL, NULL, &options, DB_FREE_SPACE, NULL);
    return bdb_status(env, error, "compact");
}

enum kx_status compact_file(struct env *env, enum table table)
{
    uint64_t before = compact_pages(env, table);
    uint64_t pages = before;
    uint64_t count = 0;
    enum kx_status status = count_free(env, table, &count);
    for (int i = 0; status == KX_OK && i < TRIES && count >= FREE_MIN &&
                    count <= FREE_MAX && count * FREE_PART >= pages;
         i++) {
        status = move_pages(env, table);
        pages = compact_pages(env, table);
        if (status == KX_OK)
            status = count_free(env, table, &count);
    }
    if (pages != before)
        kx_log(KX_LOG_INFO, "shortened", "pages=%" PRIu64 " before=%" PRIu64,
               pages, before);
    return status;
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
