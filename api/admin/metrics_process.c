/* Figures of the process, by the names that Prometheus's own libraries give
 * them. Where there is no /proc they are 0: a missing figure does not make the
 * others useless. */
#include "admin/metrics.h"
#include "admin/metrics_text.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void write_memory(struct kx_buffer *out)
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
    metrics_text_gauge(out, "process_resident_memory_bytes", "Resident memory.",
                       (double)resident * page);
    metrics_text_gauge(out, "process_virtual_memory_bytes", "Virtual memory.",
                       (double)whole * page);
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

static double open_files_max(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : 0;
}

void metrics_write_process(int64_t started_at_ms, struct kx_buffer *out)
{
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    metrics_text_head(out, "process_cpu_seconds_total", "counter",
                      "CPU time used.");
    metrics_text_add(out, "process_cpu_seconds_total %.3f\n",
                     (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9);
    write_memory(out);
    metrics_text_gauge(out, "process_open_fds", "Open file descriptors.",
                       open_files());
    metrics_text_gauge(out, "process_max_fds",
                       "Limit of open file descriptors.", open_files_max());
    metrics_text_gauge(out, "process_start_time_seconds",
                       "Unix time of the start.", (double)started_at_ms / 1000);
}
