/* A disk that takes KX_SLOW_MS for each sync, and KX_SLOW_READ_US for each read
 * of a page of 4 KiB: preloaded into a database, or a server. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static void take_time(const char *variable, long units_a_second)
{
    const char *text = getenv(variable);
    long units = text != NULL ? strtol(text, NULL, 10) : 0;
    struct timespec left = {.tv_sec = units / units_a_second,
                            .tv_nsec = units % units_a_second *
                                       (1000000000 / units_a_second)};
    while (units > 0 && nanosleep(&left, &left) != 0)
        continue;
}

static int later(const char *name, int fd)
{
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    take_time("KX_SLOW_MS", 1000);
    return real(fd);
}

int fsync(int fd)
{
    return later("fsync", fd);
}

int fdatasync(int fd)
{
    return later("fdatasync", fd);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
    if (size == PAGE_BYTES)
        take_time("KX_SLOW_READ_US", 1000000);
    return real(fd, bytes, size, at);
}
