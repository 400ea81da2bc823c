/* setrlimit and getrlimit, before any thread or socket is made. */
#include "server/limits.h"

#include <sys/resource.h>

#include "forward/forward.h"
#include "kindex.h"

enum {
    SPARE_DESCRIPTORS =
        64 /* descriptors not used for connections: database, epoll */
};

void limits_fit(struct options *options)
{
    struct rlimit limit;
    uint64_t of_node = options->engine == NULL && options->follow == NULL
                           ? 0
                           : FORWARD_CONNECTIONS_MAX + options->read_workers;
    uint64_t wanted = options->connections_max + of_node + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return;
    uint64_t room = limit.rlim_cur > 2 * SPARE_DESCRIPTORS
                        ? limit.rlim_cur - SPARE_DESCRIPTORS
                        : limit.rlim_cur / 2;
    if (options->connections_max > room)
        options->connections_max = room;
    kx_log(KX_LOG_WARNING, "connections-limited",
           "connections-max=%llu open-files=%llu",
           (unsigned long long)options->connections_max,
           (unsigned long long)limit.rlim_cur);
}

void limits_warn(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        kx_log(KX_LOG_WARNING, "file-size-limited",
               "bytes=%llu detail=\"no file of the store can be larger; raise "
               "LimitFSIZE of the unit, or ulimit -f\"",
               (unsigned long long)limit.rlim_cur);
}
