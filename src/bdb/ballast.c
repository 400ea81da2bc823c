/* The file system reserves the space; no byte of the file is written. */
#include "bdb/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const char NAME[] = "ballast";

enum { PATH_BYTES = 4096, BLOCK = 512 /* bytes, the unit of st_blocks */ };

/* False if the directory's name is too long. */
static bool path_of(const char *directory, char *out)
{
    int size = snprintf(out, PATH_BYTES, "%s/%s", directory, NAME);
    return size > 0 && size < PATH_BYTES;
}

/* Only a file that nothing else names may be extended or measured: a symbolic
 * link, or a second link to a file elsewhere, is not the ballast. */
static bool is_ballast(const struct stat *about)
{
    return S_ISREG(about->st_mode) && about->st_nlink == 1;
}

static void remove_other(const char *path)
{
    struct stat about;
    if (lstat(path, &about) == 0 && !is_ballast(&about))
        unlink(path);
}

bool ballast_is_whole(const char *directory, uint64_t bytes)
{
    char path[PATH_BYTES];
    struct stat about;
    return path_of(directory, path) && lstat(path, &about) == 0 &&
           is_ballast(&about) && (uint64_t)about.st_blocks * BLOCK >= bytes;
}

enum ballast_result ballast_take(const char *directory, uint64_t bytes)
{
    char path[PATH_BYTES];
    if (!path_of(directory, path))
        return BALLAST_NO_ROOM;
    remove_other(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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
