/* Durable file names, directory listings, and the statuses of failed file
 * calls. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

bool file_sync(const char *path)
{
    char directory[PATH_MAX];
    int size = snprintf(directory, sizeof directory, "%s", path);
    if (size < 0 || (size_t)size >= sizeof directory) {
        errno = ENAMETOOLONG;
        return false;
    }
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory] = '\0';
    int fd = open(slash != NULL ? directory : ".",
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return done;
}

/* Ignores a parent that cannot be synced because it may not be read. */
bool file_make_directory(const char *path)
{
    char name[PATH_MAX];
    size_t size = strnlen(path, sizeof name - 1);
    while (size > 1 && path[size - 1] == '/')
        size--;
    memcpy(name, path, size);
    name[size] = '\0';
    if (mkdir(path, 0700) != 0)
        return errno == EEXIST;
    (void)file_sync(name);
    return true;
}

static bool make_parent(const char *path)
{
    if (mkdir(path, 0777) == 0) {
        (void)file_sync(path);
        return true;
    }
    return errno == EEXIST || access(path, F_OK) == 0;
}

bool file_make_parents(const char *path)
{
    char name[PATH_MAX];
    size_t size = strnlen(path, sizeof name);
    if (size == sizeof name) {
        errno = ENAMETOOLONG;
        return false;
    }
    while (size > 1 && path[size - 1] == '/')
        size--;
    for (size_t at = 1; at < size; at++) {
        memcpy(name, path, at);
        name[at] = '\0';
        if (path[at] == '/' && path[at - 1] != '/' && !make_parent(name))
            return false;
    }
    return true;
}

bool file_no_room(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

uint64_t file_free_bytes(const char *directory)
{
    struct statvfs fs;
    if (statvfs(directory, &fs) != 0)
        return 0;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

enum kx_status file_failed(const char *path, struct kx_fault *fault)
{
    enum kx_status status = KX_FAILED;
    if (file_no_room(errno))
        status = KX_DISK_FULL;
    else if (errno == ENOMEM || errno == EMFILE || errno == ENFILE)
        status = KX_NO_MEMORY;
    return kx_fail(fault, status, "%s: %s", path, strerror(errno));
}

enum kx_status file_unread(const char *path, struct kx_fault *fault)
{
    return errno == EIO ? kx_fail(fault, KX_DAMAGED, "%s cannot be read: %s",
                                  path, strerror(errno))
                        : file_failed(path, fault);
}

enum kx_status file_measure(const char *path, uint64_t *size_out,
                            struct kx_fault *fault)
{
    struct stat about;
    *size_out = 0;
    if (stat(path, &about) != 0)
        return errno == ENOENT ? KX_ABSENT : file_failed(path, fault);
    *size_out = (uint64_t)about.st_size;
    return KX_OK;
}

FILE *file_write(const char *path, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    int error = errno;
    if (fd >= 0 && file == NULL)
        close(fd);
    errno = error;
    return file;
}

bool file_each(const char *directory, file_name_fn *each, void *target)
{
    struct dirent *file;
    bool going = true;
    DIR *files = opendir(directory);
    if (files == NULL)
        return false;
    while (going && (errno = 0, file = readdir(files)) != NULL)
        going = each(target, file->d_name);
    int error = errno;
    closedir(files);
    errno = error;
    return going && error == 0;
}
