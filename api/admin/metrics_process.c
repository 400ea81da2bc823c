/* Metrics of the process, under the names that Prometheus's own libraries use.
 * Without /proc they are 0, so that the other metrics remain usable. */
#include "admin/metrics.h"
#include "admin/metrics_text.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MS = 1000 /* how long a number of open files is shown */ };

static void read_memory(double *whole_out, double *resident_out)
{
    unsigned long long whole = 0;
    unsigned long long resident = 0;
    double page = (double)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &whole, &resident) != 2)
            whole = resident = 0;
        fclose(file);
    }
    *whole_out = (double)whole * page;
    *resident_out = (double)resident * page;
}

double metrics_resident_bytes(void)
{
    double whole, resident;
    read_memory(&whole, &resident);
    return resident;
}

double metrics_cpu_seconds(void)
{
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
}

static void write_memory(struct kx_buffer *out)
{
    double whole, resident;
    read_memory(&whole, &resident);
    metrics_text_gauge(out, "process_resident_memory_bytes", "Resident memory.",
                       resident);
    metrics_text_gauge(out, "process_virtual_memory_bytes", "Virtual memory.",
                       whole);
}

static double count_open_files(void)
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

/* Thousands of connections are thousands of entries of the directory, so their
 * number is kept for FILES_MS, for all threads. */
static double open_files(void)
{
    static _Atomic double count;
    static atomic_uint_fast64_t until_ns;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns >= atomic_load(&until_ns)) {
        atomic_store(&count, count_open_files());
        atomic_store(&until_ns, now_ns + (uint64_t)FILES_MS * KX_MS_NS);
    }
    return atomic_load(&count);
}

static double open_files_max(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : 0;
}

void metrics_write_process(int64_t started_at_ms, struct kx_buffer *out)
{
    metrics_text_head(out, "process_cpu_seconds_total", "counter",
                      "CPU time used.");
    metrics_text_add(out, "process_cpu_seconds_total %.3f\n",
                     metrics_cpu_seconds());
    write_memory(out);
    metrics_text_gauge(out, "process_open_fds", "Open file descriptors.",
                       open_files());
    metrics_text_gauge(out, "process_max_fds",
                       "Limit of open file descriptors.", open_files_max());
    metrics_text_gauge(out, "process_start_time_seconds",
                       "Unix time of the start.", (double)started_at_ms / 1000);
}
