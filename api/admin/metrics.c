/* Metrics for Prometheus: one table of what the core counts; requests are in
 * metrics_requests.c, indexes in metrics_indexes.c, the process in
 * metrics_process.c. Counters are read one by one while others add to them; a
 * scrape is no single moment. */
#include "admin/metrics.h"

#include <stddef.h>
#include <stdlib.h>

#include "admin/metrics_text.h"

/* All of them are uint64_t members of one struct, so an offset is enough. */
static const struct core_figure {
    const char *name;
    const char *type;
    const char *help;
    size_t offset; /* in struct kx_stats */
} FIGURES[] = {
    {"kindex_keys", "gauge", "Entries, without those of indexes.",
     offsetof(struct kx_stats, entries)},
    {"kindex_commits_replayed_total", "counter",
     "Writes that got the outcome of an earlier one with their "
     "Idempotency-Key.",
     offsetof(struct kx_stats, replayed)},
    {"kindex_idempotency_bytes", "gauge",
     "Bytes of the outcomes that are stored for writes with an "
     "Idempotency-Key.",
     offsetof(struct kx_stats, outcome_bytes)},
    {"kindex_flushes_total", "counter", "Flushes of the log to disk.",
     offsetof(struct kx_stats, flushes)},
    {"kindex_flush_commits_max", "gauge", "Most commits in one flush.",
     offsetof(struct kx_stats, batch_max)},
    {"kindex_commits_queued", "gauge",
     "Commits that are waiting for the writer.",
     offsetof(struct kx_stats, queued)},
    {"kindex_commits_queued_max", "gauge",
     "Most commits that may wait for the writer.",
     offsetof(struct kx_stats, queue_max)},
    {"kindex_watch_streams", "gauge", "Open watches.",
     offsetof(struct kx_stats, watches)},
    {"kindex_expired_total", "counter",
     "Entries removed because they had expired.",
     offsetof(struct kx_stats, expired)},
    {"kindex_index_backfilled_total", "counter",
     "Entries read to build indexes.", offsetof(struct kx_stats, backfilled)},
    {"kindex_index_resolved_total", "counter",
     "Entries read because an index entry points to them.",
     offsetof(struct kx_stats, resolved)},
    {"kindex_checkpoints_total", "counter", "Checkpoints written.",
     offsetof(struct kx_stats, checkpoints)},
    {"kindex_checkpoint_age_seconds", "gauge",
     "Time since the last checkpoint, or since the start.",
     offsetof(struct kx_stats, checkpoint_age_s)},
    {"kindex_compactions_total", "counter", "Compactions of half-empty pages.",
     offsetof(struct kx_stats, compactions)},
    {"kindex_backup_last_success_timestamp_seconds", "gauge",
     "Unix time of the last complete backup; 0 if there was none.",
     offsetof(struct kx_stats, backup_s)},
    {"kindex_archive_last_success_timestamp_seconds", "gauge",
     "Unix time when the log was last archived; 0 without an archive.",
     offsetof(struct kx_stats, archive_s)},
    {"kindex_fence_piece", "gauge",
     "Number of the last piece of a followed archive that this server took; 0 "
     "if it takes none.",
     offsetof(struct kx_stats, piece)},
    {"kindex_record_cache_hits_total", "counter",
     "Entries found in the record cache.",
     offsetof(struct kx_stats, record_cache_hits)},
    {"kindex_record_cache_misses_total", "counter",
     "Entries not found in the record cache.",
     offsetof(struct kx_stats, record_cache_misses)},
    {"kindex_page_cache_hits_total", "counter",
     "Pages found in Berkeley DB's cache.",
     offsetof(struct kx_stats, page_cache_hits)},
    {"kindex_page_cache_misses_total", "counter", "Pages read from the files.",
     offsetof(struct kx_stats, page_cache_misses)},
    {"kindex_page_cache_bytes", "gauge", "Size of Berkeley DB's cache.",
     offsetof(struct kx_stats, page_cache_bytes)},
    {"kindex_page_cache_dirty_pages", "gauge",
     "Modified pages in the cache that are not yet written.",
     offsetof(struct kx_stats, page_cache_dirty)},
    {"kindex_pages_written_total", "counter", "Pages written to the files.",
     offsetof(struct kx_stats, pages_written)},
    {"kindex_page_cache_evictions_total", "counter",
     "Pages evicted from the cache to make space for others.",
     offsetof(struct kx_stats, pages_evicted)},
    {"kindex_log_files", "gauge", "Files of the write-ahead log.",
     offsetof(struct kx_stats, log_files)},
    {"kindex_log_bytes", "gauge", "Bytes of the files of the write-ahead log.",
     offsetof(struct kx_stats, log_bytes)},
    {"kindex_disk_free_bytes", "gauge",
     "Free bytes of the file system with the data.",
     offsetof(struct kx_stats, disk_free)},
    {"kindex_disk_full", "gauge",
     "1 while writes are refused because too little space is free.",
     offsetof(struct kx_stats, disk_full)},
    {"kindex_versionstamp", "gauge", "Counter of the last versionstamp.",
     offsetof(struct kx_stats, stamp)},
};

/* The label of a commit's result. Nothing is ever tried again, and there are no
 * locks to wait for: no result speaks of that. */
enum result { COMMITTED, CHECK_FAILED, UNIQUE, REFUSED, ERROR, RESULTS };

static enum result result_of(int status)
{
    switch (status) {
    case KX_OK:
        return COMMITTED;
    case KX_CHECK_FAILED:
        return CHECK_FAILED;
    case KX_UNIQUE_VIOLATION:
        return UNIQUE;
    case KX_UNKNOWN:
    case KX_DISK_FULL:
    case KX_NO_MEMORY:
    case KX_FAILED:
        return ERROR;
    default:
        return REFUSED;
    }
}

static void write_commits(const struct kx_stats *figures, struct kx_buffer *out)
{
    static const char *const NAMES[RESULTS] = {[COMMITTED] = "commit",
                                               [CHECK_FAILED] = "check_failed",
                                               [UNIQUE] = "unique",
                                               [REFUSED] = "refused",
                                               [ERROR] = "error"};
    unsigned long long counts[RESULTS] = {0};
    for (int status = 0; status < KX_STATUS_COUNT; status++)
        counts[result_of(status)] += figures->outcomes[status];
    metrics_text_head(out, "kindex_txn_total", "counter",
                      "Commits by their result.");
    for (int result = 0; result < RESULTS; result++)
        metrics_text_add(out, "kindex_txn_total{result=\"%s\"} %llu\n",
                         NAMES[result], counts[result]);
    metrics_text_head(out, "kindex_txn_duration_seconds", "histogram",
                      "Time from a commit's submission until it is on disk.");
    metrics_text_histogram(out, "kindex_txn_duration_seconds", "", KX_TIMES,
                           figures->commit_times);
    metrics_text_head(out, "kindex_flush_duration_seconds", "histogram",
                      "Time of a flush of the log.");
    metrics_text_histogram(out, "kindex_flush_duration_seconds", "", KX_TIMES,
                           figures->flush_times);
    metrics_text_head(out, "kindex_batch_commits", "histogram",
                      "Commits that were planned and flushed together.");
    metrics_text_histogram(out, "kindex_batch_commits", "", KX_SIZES,
                           figures->batch_sizes);
}

static void write_figures(const struct kx_stats *figures, struct kx_buffer *out)
{
    write_commits(figures, out);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        const struct core_figure *figure = &FIGURES[i];
        uint64_t value;
        memcpy(&value, (const char *)figures + figure->offset, sizeof value);
        metrics_text_head(out, figure->name, figure->type, figure->help);
        metrics_text_add(out, "%s %llu\n", figure->name,
                         (unsigned long long)value);
    }
    metrics_text_head(out, "kindex_store_bytes", "gauge",
                      "Bytes of the data files, without the log.");
    metrics_text_add(out, "kindex_store_bytes{file=\"entries\"} %llu\n",
                     (unsigned long long)figures->entries_bytes);
    metrics_text_add(out, "kindex_store_bytes{file=\"expiry\"} %llu\n",
                     (unsigned long long)figures->expiry_bytes);
    metrics_text_add(out, "kindex_store_bytes{file=\"catalog\"} %llu\n",
                     (unsigned long long)figures->catalog_bytes);
}

/* A data directory has one node, which is active. epoch: as far as this node
 * knows. */
static void write_node(const struct service *service, bool active,
                       uint64_t epoch, struct kx_buffer *out)
{
    metrics_text_gauge(out, "kindex_node_active",
                       "1 while this process has the store.", active);
    metrics_text_gauge(out, "kindex_epoch",
                       "Times that a node took the lease of the store in a "
                       "database.",
                       (double)epoch);
    metrics_text_head(out, "kindex_fenced_total", "counter",
                      "Times that another node took the lease from this "
                      "process.");
    metrics_text_add(out, "kindex_fenced_total %llu\n",
                     (unsigned long long)service->role.fenced);
    metrics_text_head(out, "kindex_takes_total", "counter",
                      "Times that this process became the active node.");
    metrics_text_add(out, "kindex_takes_total %llu\n",
                     (unsigned long long)atomic_load(&service->role.takes));
}

/* Of a standby that follows an archive; any other server has read none. */
static void write_followed(const struct kx_store *store, struct kx_buffer *out)
{
    struct kx_follow_stats stats = {.age_ms = UINT64_MAX};
    (void)kx_follow_stats_read(store, &stats);
    metrics_text_gauge(
        out, "kindex_follow_age_seconds",
        "Seconds since the followed archive was last read to "
        "its end.",
        stats.age_ms == UINT64_MAX ? -1 : (double)stats.age_ms / 1000);
    metrics_text_gauge(out, "kindex_followed_commit_timestamp_seconds",
                       "Unix time of the last batch that was applied from the "
                       "archive.",
                       (double)stats.committed_s);
    metrics_text_head(out, "kindex_followed_batches_total", "counter",
                      "Batches applied from the followed archive.");
    metrics_text_add(out, "kindex_followed_batches_total %llu\n",
                     (unsigned long long)stats.batches);
}

static void write_load(const struct kx_database_load *load,
                       struct kx_buffer *out)
{
    metrics_text_gauge(out, "kindex_database_oldest_transaction_seconds",
                       "Age of the oldest transaction in the database.",
                       (double)load->oldest_ms / 1000);
    metrics_text_gauge(out, "kindex_database_dead_rows",
                       "Row versions that vacuum has not removed yet.",
                       (double)load->dead_rows);
    metrics_text_gauge(out, "kindex_database_slot_bytes",
                       "Bytes of the database's log kept for a replication "
                       "slot.",
                       (double)load->slot_bytes);
    metrics_text_gauge(out, "kindex_database_connections",
                       "Connections to the database.",
                       (double)load->connections);
    metrics_text_gauge(out, "kindex_database_connections_max",
                       "Connections that the database allows.",
                       (double)load->connections_max);
}

/* Without a database, or until this process knows, no commit waits, and the
 * load is 0. Omitted if memory runs out. */
static void write_cluster(struct kx_store *store, struct kx_buffer *out)
{
    struct kx_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL)
        return;
    bool known = kx_cluster_known(store, cluster);
    metrics_text_gauge(out, "kindex_replicated",
                       "1 while commits wait for a standby of the database.",
                       known && cluster->replicated);
    write_load(&cluster->load, out);
    free(cluster);
}

static void write_active(const struct service *service, struct kx_buffer *out)
{
    struct kx_stats figures;
    kx_stats_read(service->store, &figures);
    metrics_text_gauge(out, "kindex_fence_lease_seconds",
                       "Time until this server acknowledges nothing, unless it "
                       "takes another piece; 0 if it takes none.",
                       (double)figures.lease_ms / 1000);
    write_node(service, kx_store_holds(service->store), figures.epoch, out);
    write_followed(service->store, out);
    metrics_text_gauge(out, "kindex_batch",
                       "Number of the last batch in the database.",
                       (double)kx_store_position(service->store).batch);
    write_cluster(service->store, out);
    write_figures(&figures, out);
}

static void write_standby(struct service *service, struct kx_buffer *out)
{
    struct kx_holder holder;
    role_holder(&service->role, &holder);
    write_node(service, false, holder.epoch, out);
    write_followed(service->follower_store, out);
}

void metrics_write(struct service *service, struct kx_reader *reader,
                   const struct queues *queues, struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_build_info", "gauge",
                      "The version of the running server.");
    metrics_text_add(out, "kindex_build_info{version=\"%s\"} 1\n", KX_VERSION);
    if (reader != NULL)
        write_active(service, out);
    else
        write_standby(service, out);
    metrics_write_requests(service, out);
    if (reader != NULL && kx_read_try_hold(reader))
        metrics_write_indexes(reader, out);
    metrics_write_queues(queues, out);
    metrics_write_process(service->started_at_ms, out);
}
