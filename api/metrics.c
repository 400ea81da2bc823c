/* Figures for Prometheus: one table of what the core counts, then requests and
 * the process; indexes are in metrics_indexes.c. Counters are read one by one
 * while others add to them; a scrape is no single moment. */
#include "metrics.h"

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "router.h"

enum { LINE_MAX = 512 };

void metrics_add(struct kx_buffer *out, const char *format, ...)
{
    char line[LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    kx_add_text(out, line);
}

void metrics_head(struct kx_buffer *out, const char *name, const char *type,
                  const char *help)
{
    metrics_add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(struct kx_buffer *out, const char *name, const char *help,
                  double value)
{
    metrics_head(out, name, "gauge", help);
    metrics_add(out, "%s %.17g\n", name, value);
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
    {"kindex_watches", "gauge", "Watches that are open.",
     offsetof(struct kx_figures, watches)},
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
    metrics_head(out, "kindex_txn_total", "counter",
                 "Commits by their result.");
    metrics_add(out, "kindex_txn_total{result=\"commit\"} %llu\n",
                (unsigned long long)figures.commits);
    metrics_add(out, "kindex_txn_total{result=\"refused\"} %llu\n",
                (unsigned long long)figures.refused);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        const struct figure *figure = &FIGURES[i];
        uint64_t value;
        memcpy(&value, (const char *)&figures + figure->offset, sizeof value);
        metrics_head(out, figure->name, figure->type, figure->help);
        metrics_add(out, "%s %llu\n", figure->name, (unsigned long long)value);
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
            metrics_add(out,
                        "kindex_http_requests_total{route=\"%s\",method=\"%s\","
                        "status=\"%dxx\"} %llu\n",
                        route != NULL ? route->pattern : "none",
                        route != NULL ? method_name(route->method) : "any",
                        status, count);
    }
}

static void write_requests(const struct counters *counters,
                           struct kx_buffer *out)
{
    metrics_head(out, "kindex_http_requests_total", "counter",
                 "Replies by route and class of their status.");
    for (size_t row = 0; row <= ROUTE_COUNT; row++)
        write_row(counters, row, out);
    gauge(out, "kindex_http_requests_in_flight", "Requests not replied yet.",
          (double)atomic_load(&counters->in_flight));
    gauge(out, "kindex_http_connections", "Open connections.",
          (double)atomic_load(&counters->connections));
    metrics_head(out, "kindex_http_connections_total", "counter",
                 "Connections by what became of them.");
    metrics_add(
        out, "kindex_http_connections_total{result=\"accepted\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_accepted));
    metrics_add(
        out, "kindex_http_connections_total{result=\"refused\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_refused));
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
    metrics_head(out, "process_cpu_seconds_total", "counter", "CPU time used.");
    metrics_add(out, "process_cpu_seconds_total %.3f\n",
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
    metrics_head(out, "kindex_build_info", "gauge", "The version that runs.");
    metrics_add(out, "kindex_build_info{version=\"%s\"} 1\n", KX_VERSION);
    write_figures(service->store, out);
    write_requests(&service->counters, out);
    metrics_write_indexes(reader, out);
    write_process(service, out);
}
