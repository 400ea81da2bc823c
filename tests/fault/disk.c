/* A small disk, for the test of one that is full (disk.js). Preloaded into the
 * server:
 *
 *   KX_DISK_DATA   the directory whose files are on it
 *   KX_DISK_ROOM   a file that says how many bytes the disk has; it is read
 *                  whenever something is asked or written
 *
 * What is written beyond that fails with ENOSPC, as far as it makes a file
 * larger or fills a hole.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK = 512, UNIT = 4096 };

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? "" : text;
}

static bool is_our_fd(int fd)
{
    char link[64];
    char path[1024];
    const char *data = setting("KX_DISK_DATA");
    size_t size = strlen(data);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    path[got < 0 ? 0 : got] = '\0';
    return size != 0 && strncmp(path, data, size) == 0 && path[size] == '/';
}

static long long used(void)
{
    long long sum = 0;
    char path[2048];
    const char *data = setting("KX_DISK_DATA");
    DIR *directory = opendir(data);
    const struct dirent *entry;
    struct stat stat_of;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", data, entry->d_name);
        if (entry->d_name[0] != '.' && stat(path, &stat_of) == 0)
            sum += (long long)stat_of.st_blocks * BLOCK;
    }
    if (directory != NULL)
        closedir(directory);
    return sum;
}

static long long left(void)
{
    long long room = 0;
    FILE *file = fopen(setting("KX_DISK_ROOM"), "re");
    if (file != NULL && fscanf(file, "%lld", &room) != 1)
        room = 0;
    if (file != NULL)
        fclose(file);
    long long bytes = room - used();
    return bytes < 0 ? 0 : bytes;
}

/* Is there room for so many bytes more? Then errno is left alone. */
static bool fits(long long bytes)
{
    if (bytes <= left())
        return true;
    errno = ENOSPC;
    return false;
}

/* What a write at this place adds: a file without holes only grows. */
static long long added(int fd, off_t at, size_t size)
{
    struct stat stat_of;
    if (fstat(fd, &stat_of) != 0)
        return 0;
    bool holes = (long long)stat_of.st_blocks * BLOCK < stat_of.st_size;
    long long end = (long long)at + (long long)size;
    if (holes)
        return (long long)size;
    return end > stat_of.st_size ? end - stat_of.st_size : 0;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t (*really)(int, const void *, size_t, off_t) = next("pwrite");
    if (is_our_fd(fd) && !fits(added(fd, at, size)))
        return -1;
    return really(fd, data, size, at);
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*really)(int, const void *, size_t) = next("write");
    if (is_our_fd(fd) && !fits(added(fd, lseek(fd, 0, SEEK_CUR), size)))
        return -1;
    return really(fd, data, size);
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
    int (*really)(int, int, off_t, off_t) = next("fallocate");
    if (is_our_fd(fd) && !fits(added(fd, at, (size_t)size)))
        return -1;
    return really(fd, mode, at, size);
}

int statvfs(const char *path, struct statvfs *out)
{
    int (*really)(const char *, struct statvfs *) = next("statvfs");
    int result = really(path, out);
    if (result == 0 && strcmp(path, setting("KX_DISK_DATA")) == 0) {
        out->f_frsize = UNIT;
        out->f_bavail = (fsblkcnt_t)(left() / UNIT);
    }
    return result;
}
