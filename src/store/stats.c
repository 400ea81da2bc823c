/* Statistics of the store. They are not read at one moment; each number is
 * correct by itself. */
#include "base/file.h"
#include "commit/store_state.h"
#include "commit/watch.h"
#include "storage/env.h"
#include "engine/record_cache.h"
#include "kindex/clock.h"

static void take_counters(struct kx_store *store, struct kx_stats *stats)
{
    *stats = (struct kx_stats){
        .stamp = atomic_load(&store->stats.stamp),
        .entries = atomic_load(&store->stats.entries),
        .replayed = atomic_load(&store->stats.replayed),
        .outcome_bytes = atomic_load(&store->stats.outcome_bytes),
        .flushes = atomic_load(&store->stats.flushes),
        .batch_max = atomic_load(&store->stats.batch_max),
        .expired = atomic_load(&store->stats.expired),
        .backfilled = atomic_load(&store->stats.backfilled),
        .resolved = atomic_load(&store->stats.resolved),
        .compactions = atomic_load(&store->stats.compactions),
        .backup_s = atomic_load(&store->stats.backup_s),
        .archive_s = atomic_load(&store->stats.archive_s),
        .piece = atomic_load(&store->stats.piece),
        .watches = watch_count(store->watches),
        .queue_max = store->options.queue_max,
        .disk_full = engine_space(store->engine) != SPACE_ENOUGH,
        .commit_times = &store->stats.commit_times,
        .flush_times = &store->stats.flush_times,
        .batch_sizes = &store->stats.batch_sizes,
    };
    for (int status = 0; status < KX_STATUS_COUNT; status++)
        stats->outcomes[status] = atomic_load(&store->stats.outcomes[status]);
}

static void take_lease(const struct kx_store *store, struct kx_stats *stats)
{
    uint64_t until_ns = atomic_load(&store->stats.piece_until_ns);
    uint64_t now_ns = kx_monotonic_ns();
    stats->lease_ms = until_ns > now_ns ? (until_ns - now_ns) / KX_MS_NS : 0;
}

static void take_cache(struct kx_store *store, struct kx_stats *stats)
{
    struct record_cache_stats records;
    record_cache_stats(store->cache, &records);
    stats->record_cache_hits = records.hits;
    stats->record_cache_misses = records.misses;
}

/* Reads statistics of the data directory; zeros if there is no directory. */
static void take_storage(struct kx_store *store, struct kx_stats *stats)
{
    struct env_stats env;
    if (store->env == NULL)
        return;
    env_stats_read(store->env, &env);
    stats->disk_free = file_free_bytes(store->options.directory);
    stats->page_cache_hits = env.cache_hits;
    stats->page_cache_misses = env.cache_misses;
    stats->page_cache_bytes = env.cache_bytes;
    stats->page_cache_dirty = env.cache_dirty;
    stats->pages_written = env.pages_written;
    stats->pages_evicted = env.pages_evicted;
    stats->entries_bytes = env.table_bytes[TABLE_ENTRIES];
    stats->expiry_bytes = env.table_bytes[TABLE_EXPIRY];
    stats->catalog_bytes = env.table_bytes[TABLE_CATALOG];
    stats->log_files = env.log_files;
    stats->log_bytes = env.log_bytes;
    stats->checkpoints = env.checkpoints;
    stats->checkpoint_age_s = env.checkpoint_age_s;
}

void kx_stats_read(struct kx_store *store, struct kx_stats *stats_out)
{
    take_counters(store, stats_out);
    take_lease(store, stats_out);
    take_cache(store, stats_out);
    take_storage(store, stats_out);
    stats_out->epoch = engine_epoch(store->engine);
    stats_out->queued = commit_queue_count(&store->queue);
}
