/* Figures for Prometheus: one table of what the core counts, then requests,
 * indexes and the process. Counters are read one by one while others add to
 * them; a scrape is no single moment. */
#include "metrics.h"

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "router.h"

enum { LINE_MAX = 512 };

static void add(struct kx_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct kx_buffer *out, const char *format, ...)
{
    char line[LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    kx_add_text(out, line);
}

/* Prometheus wants these lines once for each name, before all of its values. */
static void head(struct kx_buffer *out, const char *name, const char *type,
                 const char *help)
{
    add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(struct kx_buffer *out, const char *name, const char *help,
                  double value)
{
    head(out, name, "gauge", help);
    add(out, "%s %.17g\n", name, value);
}

/* ---- The core's figures -----------------------------------------------------
 */

/* All of them are uint64_t members of one struct, so an offset is enough. */
static const struct figure {
    const char *name;
    const char *type;
    const char *help;
    size_t offset; /* in struct kx_figures */
} FIGURES[] = {
    {"kindex_flushes_total", "counter", "Flushes of the log to disk.",
     offsetof(struct kx_figures, flushes)},
    {"kindex_flush_commits_max", "gauge", "Most commits in one flush.",
     offsetof(struct kx_figures, batch_max)},
    {"kindex_commits_queued", "gauge", "Commits that wait for the writer.",
     offsetof(struct kx_figures, queued)},
    {"kindex_expired_total", "counter",
     "Entries removed because their time was over.",
     offsetof(struct kx_figures, expired)},
    {"kindex_index_backfilled_total", "counter",
     "Entries read to build indexes.", offsetof(struct kx_figures, backfilled)},
    {"kindex_index_resolved_total", "counter",
     "Entries read because an index entry points to them.",
     offsetof(struct kx_figures, resolved)},
    {"kindex_checkpoints_total", "counter", "Checkpoints written.",
     offsetof(struct kx_figures, checkpoints)},
    {"kindex_packings_total", "counter",
     "Times that half-empty pages were packed.",
     offsetof(struct kx_figures, packings)},
    {"kindex_record_cache_hits_total", "counter",
     "Entries found in the record cache.",
     offsetof(struct kx_figures, record_cache_hits)},
    {"kindex_record_cache_misses_total", "counter",
     "Entries not found in the record cache.",
     offsetof(struct kx_figures, record_cache_misses)},
    {"kindex_page_cache_hits_total", "counter", "Pages found in the cache.",
     offsetof(struct kx_figures, page_cache_hits)},
    {"kindex_page_cache_misses_total", "counter", "Pages read from the files.",
     offsetof(struct kx_figures, page_cache_misses)},
    {"kindex_versionstamp", "gauge", "Counter of the last versionstamp.",
     offsetof(struct kx_figures, stamp)},
};

static void write_figures(struct kx_store *store, struct kx_buffer *out)
{
    struct kx_figures figures;
    kx_figures(store, &figures);
    head(out, "kindex_txn_total", "counter", "Commits by their result.");
    add(out, "kindex_txn_total{result=\"commit\"} %llu\n",
        (unsigned long long)figures.commits);
    add(out, "kindex_txn_total{result=\"refused\"} %llu\n",
        (unsigned long long)figures.refused);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        const struct figure *figure = &FIGURES[i];
        uint64_t value;
        memcpy(&value, (const char *)&figures + figure->offset, sizeof value);
        head(out, figure->name, figure->type, figure->help);
        add(out, "%s %llu\n", figure->name, (unsigned long long)value);
    }
}

/* ---- Requests
 * ---------------------------------------------------------------- */

/* Combinations that never occurred are left out: the table has hundreds. */
static void write_row(const struct counters *counters, size_t row,
                      struct kx_buffer *out)
{
    const struct route *route = row < ROUTE_COUNT ? &ROUTES[row] : NULL;
    for (int status = 1; status < STATUS_CLASSES; status++) {
        unsigned long long count = atomic_load_explicit(
            &counters->replies[row][status], memory_order_relaxed);
        if (count != 0)
            add(out,
                "kindex_http_requests_total{route=\"%s\",method=\"%s\","
                "status=\"%dxx\"} %llu\n",
                route != NULL ? route->pattern : "none",
                route != NULL ? method_name(route->method) : "any", status,
                count);
    }
}

static void write_requests(const struct counters *counters,
                           struct kx_buffer *out)
{
    head(out, "kindex_http_requests_total", "counter",
         "Replies by route and class of their status.");
    for (size_t row = 0; row <= ROUTE_COUNT; row++)
        write_row(counters, row, out);
    gauge(out, "kindex_http_requests_in_flight", "Requests not replied yet.",
          (double)atomic_load(&counters->in_flight));
    gauge(out, "kindex_http_connections", "Open connections.",
          (double)atomic_load(&counters->connections));
    head(out, "kindex_http_connections_total", "counter",
         "Connections by what became of them.");
    add(out, "kindex_http_connections_total{result=\"accepted\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_accepted));
    add(out, "kindex_http_connections_total{result=\"refused\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_refused));
}

/* ---- Indexes
 * ------------------------------------------------------------------ */

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

typedef void index_fn(const struct kx_index_info *info, struct kx_buffer *out);

static void index_entries(const struct kx_index_info *info,
                          struct kx_buffer *out)
{
    add(out, "kindex_index_entries{index=\"%.*s\"} %llu\n",
        (int)info->name.size, (const char *)info->name.data,
        (unsigned long long)info->entries);
}

static void index_progress(const struct kx_index_info *info,
                           struct kx_buffer *out)
{
    add(out, "kindex_index_build_progress_ratio{index=\"%.*s\"} %.4f\n",
        (int)info->name.size, (const char *)info->name.data, progress(info));
}

static void index_state(const struct kx_index_info *info, struct kx_buffer *out)
{
    for (int state = KX_INDEX_BUILDING; state <= KX_INDEX_FAILED; state++)
        add(out, "kindex_index_state{index=\"%.*s\",state=\"%s\"} %d\n",
            (int)info->name.size, (const char *)info->name.data,
            kx_index_state_text((enum kx_index_state)state),
            (int)info->state == state);
}

static void each_index(struct kx_reader *reader, index_fn *write,
                       struct kx_buffer *out)
{
    struct kx_index_info info;
    for (size_t n = 0; kx_index_at(reader, n, &info) == KX_OK; n++)
        write(&info, out);
}

/* One view for all three passes, so that they name the same indexes. No figure
 * waits for a flush: nothing here can be taken back by a client. */
static void write_indexes(struct kx_reader *reader, struct kx_buffer *out)
{
    kx_read_begin(reader);
    head(out, "kindex_index_entries", "gauge", "Index entries, estimated.");
    each_index(reader, index_entries, out);
    head(out, "kindex_index_build_progress_ratio", "gauge",
         "Progress of a build, 1 when the index is ready.");
    each_index(reader, index_progress, out);
    head(out, "kindex_index_state", "gauge",
         "1 for the state that the index is in.");
    each_index(reader, index_state, out);
    kx_read_end(reader);
}

/* ---- The process
 * --------------------------------------------------------------- */

/* 0 where there is no /proc: a missing figure does not make the others
 * useless. */
static double resident_bytes(void)
{
    unsigned long long whole;
    unsigned long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &whole, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double open_files(void)
{
    double count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        return 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

static void write_process(const struct service *service, struct kx_buffer *out)
{
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    head(out, "process_cpu_seconds_total", "counter", "CPU time used.");
    add(out, "process_cpu_seconds_total %.3f\n",
        (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9);
    gauge(out, "process_resident_memory_bytes", "Resident memory.",
          resident_bytes());
    gauge(out, "process_open_fds", "Open file descriptors.", open_files());
    gauge(out, "process_start_time_seconds", "Unix time of the start.",
          (double)service->started_at_ms / 1000);
}

void metrics_write(struct service *service, struct kx_reader *reader,
                   struct kx_buffer *out)
{
    head(out, "kindex_build_info", "gauge", "The version that runs.");
    add(out, "kindex_build_info{version=\"%s\"} 1\n", KX_VERSION);
    write_figures(service->store, out);
    write_requests(&service->counters, out);
    write_indexes(reader, out);
    write_process(service, out);
}
