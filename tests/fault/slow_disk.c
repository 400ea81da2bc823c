/* A disk that takes KX_SLOW_MS for each sync: preloaded into a database. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void take_time(void)
{
    const char *text = getenv("KX_SLOW_MS");
    long ms = text != NULL ? strtol(text, NULL, 10) : 0;
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static int later(const char *name, int fd)
{
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    take_time();
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
