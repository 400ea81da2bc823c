/* The lock is an flock on a file in the directory, which the system releases
 * when the process ends. Berkeley DB does not reject a second process, which
 * would destroy the files. */
#include "base/dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"

struct dir_lock {
    int fd;
};

static int give_back(struct dir_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    return 0;
}

static bool is_other(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

static enum kx_status make_directory(const char *path, struct kx_fault *fault)
{
    if (file_make_directory(path)) {
        if (is_other(path))
            return kx_fail(fault, KX_BAD_DIRECTORY,
                           "data directory %s: it is a file, not a directory",
                           path);
        if (access(path, R_OK | W_OK | X_OK) == 0)
            return KX_OK;
    }
    return kx_fail(fault, KX_BAD_DIRECTORY, "data directory %s: %s", path,
                   strerror(errno));
}

static enum kx_status dir_lock_file(struct dir_lock *lock, const char *path,
                                    struct kx_fault *fault)
{
    char *name = talloc_asprintf(lock, "%s/lock", path);
    if (name == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    lock->fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock->fd < 0)
        return kx_fail(fault, KX_BAD_DIRECTORY, "data directory %s: %s", path,
                       strerror(errno));
    if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0)
        return KX_OK;
    if (errno == EWOULDBLOCK)
        return kx_fail(fault, KX_IN_USE,
                       "data directory %s is used by another process", path);
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "data directory %s cannot be locked: %s", path,
                   strerror(errno));
}

enum kx_status dir_lock_take(void *mem, const char *directory,
                             struct dir_lock **lock_out, struct kx_fault *fault)
{
    struct dir_lock *lock = talloc_zero(mem, struct dir_lock);
    if (lock == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    lock->fd = -1;
    talloc_set_destructor(lock, give_back);
    enum kx_status status = make_directory(directory, fault);
    if (status == KX_OK)
        status = dir_lock_file(lock, directory, fault);
    if (status != KX_OK)
        talloc_free(lock);
    else
        *lock_out = lock;
    return status;
}
