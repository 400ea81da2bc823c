/* Statistics of the library's cache, and the sizes of its files. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "storage/env.h"
#include "storage/env_state.h"

static void read_cache(DB_ENV *db, struct env_stats *stats)
{
    DB_MPOOL_STAT *stat = NULL;
    if (db->memp_stat(db, &stat, NULL, 0) != 0)
        return;
    stats->cache_hits = stat->st_cache_hit;
    stats->cache_misses = stat->st_cache_miss;
    stats->cache_bytes =
        ((uint64_t)stat->st_gbytes << 30) + (uint64_t)stat->st_bytes;
    stats->cache_dirty = stat->st_page_dirty;
    stats->pages_written = stat->st_page_out;
    stats->pages_evicted = stat->st_ro_evict + stat->st_rw_evict;
    free(stat);
}

/* The library does not know checkpoints from before it was opened. */
static void read_checkpoint(DB_ENV *db, struct env_stats *stats)
{
    DB_TXN_STAT *stat = NULL;
    if (db->txn_stat(db, &stat, 0) != 0)
        return;
    time_t now = time(NULL);
    if (stat->st_time_ckp != 0 && now > stat->st_time_ckp)
        stats->checkpoint_age_s = (uint64_t)(now - stat->st_time_ckp);
    free(stat);
}

static void add_file(struct env_stats *stats, const char *name, uint64_t bytes)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (strcmp(name, table_file((enum table)i)) == 0)
            stats->table_bytes[i] = bytes;
    if (strncmp(name, "log.", 4) == 0) {
        stats->log_files++;
        stats->log_bytes += bytes;
    }
}

/* Skips a file that is removed meanwhile. */
static void read_files(DB_ENV *db, struct env_stats *stats)
{
    const char *home = NULL;
    if (db->get_home(db, &home) != 0 || home == NULL)
        return;
    DIR *directory = opendir(home);
    const struct dirent *entry;
    struct stat stat;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (fstatat(dirfd(directory), entry->d_name, &stat, 0) == 0)
            add_file(stats, entry->d_name, (uint64_t)stat.st_size);
    if (directory != NULL)
        closedir(directory);
}

void env_stats_read(struct env *env, struct env_stats *stats_out)
{
    *stats_out = (struct env_stats){
        .checkpoints = atomic_load(&env_state(env)->checkpoints)};
    read_cache(env->db, stats_out);
    read_checkpoint(env->db, stats_out);
    read_files(env->db, stats_out);
}
