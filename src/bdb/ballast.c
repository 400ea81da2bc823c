/* The file system reserves the space; no byte is written. */
#include "bdb/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char NAME[] = "ballast";

enum { PATH_BYTES = 4096, BLOCK = 512 /* of st_blocks */ };

/* False if the directory's name is too long. */
static bool path_of(const char *directory, char *out)
{
    int size = snprintf(out, PATH_BYTES, "%s/%s", directory, NAME);
    return size > 0 && size < PATH_BYTES;
}

bool ballast_is_whole(const char *directory, uint64_t bytes)
{
    char path[PATH_BYTES];
    struct stat stat_of;
    return path_of(directory, path) && stat(path, &stat_of) == 0 &&
           (uint64_t)stat_of.st_blocks * BLOCK >= bytes;
}

enum ballast_result ballast_take(const char *directory, uint64_t bytes)
{
    char path[PATH_BYTES];
    int fd = path_of(directory, path)
                 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0)
        return BALLAST_NO_ROOM;
    int error = fallocate(fd, 0, 0, (off_t)bytes) == 0 ? 0 : errno;
    close(fd);
    if (error == 0)
        return BALLAST_TAKEN;
    unlink(path);
    return error == EOPNOTSUPP || error == ENOSYS ? BALLAST_UNSUPPORTED
                                                  : BALLAST_NO_ROOM;
}

/* Returns false if there was no ballast. */
static bool give(const char *directory)
{
    char path[PATH_BYTES];
    return path_of(directory, path) && unlink(path) == 0;
}

void ballast_give_if_full(const char *directory, uint64_t floor)
{
    uint64_t bytes = file_free_bytes(directory);
    if (bytes < floor / 2 && give(directory))
        kx_log(KX_LOG_WARNING, "ballast-given",
               "free_bytes=%llu floor_bytes=%llu", (unsigned long long)bytes,
               (unsigned long long)floor);
}
