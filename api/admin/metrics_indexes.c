/* Metrics of each index and queue. One table; Prometheus wants all values of a
 * name together, so the descriptions of all indexes are collected first. */
#include "admin/metrics.h"

#include <talloc.h>

#include "admin/metrics_text.h"

/* 1 for an index that is ready, also when it was never seen building. */
static double progress(const struct kx_index_info *info)
{
    if (info->state != KX_INDEX_BUILDING)
        return info->state == KX_INDEX_READY ? 1 : 0;
    if (info->total == 0)
        return 0;
    double ratio = (double)info->done / (double)info->total;
    return ratio < 1 ? ratio : 1;
}

static double entries(const struct kx_index_info *info)
{
    return (double)info->entries;
}

static double reads(const struct kx_index_info *info)
{
    return (double)info->reads;
}

static double writes(const struct kx_index_info *info)
{
    return (double)info->writes;
}

static double conflicts(const struct kx_index_info *info)
{
    return (double)info->conflicts;
}

static double last_read(const struct kx_index_info *info)
{
    return (double)info->last_read_ms / 1000;
}

static const struct index_figure {
    const char *name;
    const char *type;
    const char *help;
    double (*value)(const struct kx_index_info *info);
} FIGURES[] = {
    {"kindex_index_entries", "gauge", "Index entries, estimated.", entries},
    {"kindex_index_build_progress_ratio", "gauge",
     "Progress of a build, 1 when the index is ready.", progress},
    {"kindex_index_reads_total", "counter",
     "Scans and look-ups of an index or of its entries.", reads},
    {"kindex_index_writes_total", "counter",
     "Index entries that commits put or removed.", writes},
    {"kindex_index_conflicts", "gauge",
     "Entries whose unique value another entry also has.", conflicts},
    {"kindex_index_last_read_time_seconds", "gauge",
     "Unix time of the last read of an index; 0 if none since the start.",
     last_read},
};

/* The indexes of one view. */
struct indexes {
    struct kx_index_info *all;
    size_t count;
};

static void write_figure(const struct indexes *indexes,
                         const struct index_figure *figure,
                         struct kx_buffer *out)
{
    metrics_text_head(out, figure->name, figure->type, figure->help);
    for (size_t n = 0; n < indexes->count; n++) {
        const struct kx_index_info *info = &indexes->all[n];
        metrics_text_add(out, "%s{index=\"%.*s\"} %.15g\n", figure->name,
                         (int)info->name.size, (const char *)info->name.data,
                         figure->value(info));
    }
}

/* The only metric for which rows are read. */
static void write_bytes(struct kx_reader *reader, const struct indexes *indexes,
                        struct kx_buffer *out)
{
    uint64_t bytes;
    metrics_text_head(
        out, "kindex_index_bytes", "gauge",
        "Bytes of an index's entries, estimated from some of them.");
    for (size_t n = 0; n < indexes->count; n++) {
        struct kx_slice name = indexes->all[n].name;
        if (kx_index_bytes(reader, name, &bytes) == KX_OK)
            metrics_text_add(out, "kindex_index_bytes{index=\"%.*s\"} %llu\n",
                             (int)name.size, (const char *)name.data,
                             (unsigned long long)bytes);
    }
}

/* Metrics of the indexes that were verified since the start. */
static void write_damage(const struct indexes *indexes, struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_index_verify_problems", "gauge",
                      "Problems that the last verification found, by kind.");
    for (size_t n = 0; n < indexes->count; n++) {
        const struct kx_index_info *info = &indexes->all[n];
        for (int kind = 0; info->verification != NULL && kind < KX_DAMAGES;
             kind++)
            metrics_text_add(
                out,
                "kindex_index_verify_problems{index=\"%.*s\",kind=\"%s\"} "
                "%llu\n",
                (int)info->name.size, (const char *)info->name.data,
                kx_damage_text((enum kx_damage)kind),
                (unsigned long long)info->verification->counts[kind]);
    }
}

static void write_states(const struct indexes *indexes, struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_index_state", "gauge",
                      "1 for the state that the index is in.");
    for (size_t n = 0; n < indexes->count; n++) {
        const struct kx_index_info *info = &indexes->all[n];
        for (int state = KX_INDEX_BUILDING; state <= KX_INDEX_FAILED; state++)
            metrics_text_add(
                out, "kindex_index_state{index=\"%.*s\",state=\"%s\"} %d\n",
                (int)info->name.size, (const char *)info->name.data,
                kx_index_state_text((enum kx_index_state)state),
                (int)info->state == state);
    }
}

/* One view for all metrics, so that they name the same indexes. Metrics do not
 * wait for a flush, since they acknowledge nothing. */
void metrics_write_indexes(struct kx_reader *reader, struct kx_buffer *out)
{
    struct indexes indexes = {
        .all = talloc_array(NULL, struct kx_index_info, KX_INDEXES_MAX)};
    if (indexes.all == NULL) {
        out->failed = true;
        return;
    }
    kx_read_begin(reader);
    while (indexes.count < KX_INDEXES_MAX &&
           kx_index_at(reader, indexes.count, &indexes.all[indexes.count]) ==
               KX_OK)
        indexes.count++;
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        write_figure(&indexes, &FIGURES[i], out);
    write_bytes(reader, &indexes, out);
    write_damage(&indexes, out);
    write_states(&indexes, out);
    kx_read_end(reader);
    talloc_free(indexes.all);
}

/* ---- Queues -------------------------------------------------------------- */

static double retries(const struct queue_counts *counts)
{
    return (double)counts->retries;
}

static double oldest_due(const struct queue_counts *counts)
{
    return (double)counts->oldest_due_ms / 1000;
}

static const struct queue_figure {
    const char *name;
    const char *help;
    double (*value)(const struct queue_counts *counts);
} QUEUE_FIGURES[] = {
    {"kindex_queue_retries",
     "Jobs that are not dead and had an attempt before.", retries},
    {"kindex_queue_oldest_due_timestamp_seconds",
     "Unix time since when the oldest job is due; 0 if no job that is due "
     "names "
     "a time.",
     oldest_due},
};

static void write_jobs(const struct queue_counts *counts, struct kx_buffer *out)
{
    for (int state = 0; counts->counted && state < QUEUE_STATES; state++)
        metrics_text_add(
            out, "kindex_queue_jobs{index=\"%.*s\",state=\"%s\"} %llu\n",
            (int)counts->name.size, (const char *)counts->name.data,
            QUEUE_STATE_NAMES[state], (unsigned long long)counts->jobs[state]);
}

static void write_queue_figure(const struct queues *queues,
                               const struct queue_figure *figure,
                               struct kx_buffer *out)
{
    metrics_text_head(out, figure->name, "gauge", figure->help);
    for (size_t n = 0; n < queues->count; n++) {
        const struct queue_counts *counts = &queues->each[n];
        if (counts->counted)
            metrics_text_add(out, "%s{index=\"%.*s\"} %.15g\n", figure->name,
                             (int)counts->name.size,
                             (const char *)counts->name.data,
                             figure->value(counts));
    }
}

void metrics_write_queues(const struct queues *queues, struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_queue_jobs", "gauge",
                      "Jobs in each state, of the first 10,000 of a queue.");
    for (size_t n = 0; n < queues->count; n++)
        write_jobs(&queues->each[n], out);
    for (size_t i = 0; i < sizeof QUEUE_FIGURES / sizeof *QUEUE_FIGURES; i++)
        write_queue_figure(queues, &QUEUE_FIGURES[i], out);
}
