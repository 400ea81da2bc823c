/* Uses the library's own counters. A page that was changed is still dirty, or
 * was written when it left the cache; a checkpoint writes only pages that were
 * changed before it. A page that left the cache twice counts twice, because
 * recovery may read it twice. */
#include "storage/recovery_cost.h"

#include <stdlib.h>

#include "storage/env_state.h"

/* Measured (tests/bench/README.md): reading the log alone; and a page that is
 * read, checked, changed and, in half of the cases, written. */
enum {
    LOG_BYTES_PER_US = 200,
    PAGE_US = 16,
    RECORD_BYTES_MIN = 40 /* the shortest record that changes a page */
};

static uint64_t log_end(DB_ENV *db)
{
    DB_LOG_STAT *stat = NULL;
    if (db->log_stat(db, &stat, 0) != 0)
        return 0;
    uint64_t end =
        (uint64_t)stat->st_cur_file * stat->st_lg_size + stat->st_cur_offset;
    free(stat);
    return end;
}

/* Sets both to 0 if they are unknown. */
static void read_pages(DB_ENV *db, uint64_t *evicted_out, uint64_t *dirty_out)
{
    DB_MPOOL_STAT *stat = NULL;
    *evicted_out = 0;
    *dirty_out = 0;
    if (db->memp_stat(db, &stat, NULL, 0) != 0)
        return;
    *evicted_out = stat->st_rw_evict;
    *dirty_out = stat->st_page_dirty;
    free(stat);
}

struct recovery_start recovery_start_here(const struct env *env)
{
    struct recovery_start start = {.log_at = log_end(env->db)};
    uint64_t dirty;
    read_pages(env->db, &start.evicted, &dirty);
    return start;
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t cost_us(uint64_t log_bytes, uint64_t pages)
{
    return log_bytes / LOG_BYTES_PER_US + pages * PAGE_US;
}

uint64_t recovery_cost_most(const struct env *env)
{
    uint64_t bytes = since(log_end(env->db), env_state(env)->recovery.log_at);
    return cost_us(bytes, bytes / RECORD_BYTES_MIN);
}

struct recovery_cost recovery_cost_now(const struct env *env)
{
    const struct recovery_start *start = &env_state(env)->recovery;
    uint64_t evicted, dirty;
    read_pages(env->db, &evicted, &dirty);
    struct recovery_cost cost = {
        .log_bytes = since(log_end(env->db), start->log_at),
        .pages = since(evicted, start->evicted) + dirty};
    cost.us = cost_us(cost.log_bytes, cost.pages);
    return cost;
}
