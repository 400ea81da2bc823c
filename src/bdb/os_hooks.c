/* The hooks do not know which environment they are called for, so their records
 * are per process. */
#include "bdb/os_hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <db.h>

#include "base/file.h"
#include "bdb/log_prealloc.h"

/* ---- Opening ------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failed_path[PATH_MAX];
static int failed_error; /* 0: none */

static void note(const char *path, int error)
{
    pthread_mutex_lock(&lock);
    failed_error = error;
    snprintf(failed_path, sizeof failed_path, "%s", path);
    pthread_mutex_unlock(&lock);
}

/* Notes failures. ENOENT and EEXIST are expected results. */
static int open_file(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    bool made = (flags & O_CREAT) == 0 || log_prealloc_take(path);
    int file = made ? open(path, flags, (mode_t)mode) : -1;
    int error = errno;
    if (file < 0 && error != ENOENT && error != EEXIST)
        note(path, error);
    errno = error;
    return file;
}

bool os_hooks_failed(struct kx_fault *fault)
{
    pthread_mutex_lock(&lock);
    bool failed = failed_error != 0;
    if (failed)
        kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", failed_path,
                strerror(failed_error));
    pthread_mutex_unlock(&lock);
    return failed;
}

/* ---- Listing ------------------------------------------------------------ */

struct name_list {
    char **names;
    int count;
    int capacity;
};

static atomic_int list_error;

/* The hook by which the library frees the result of list_names. */
static void free_names(char **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static bool make_room(struct name_list *list)
{
    if (list->count < list->capacity)
        return true;
    int capacity = list->capacity * 2 + 64;
    char **names =
        realloc(list->names, (size_t)capacity * sizeof list->names[0]);
    if (names == NULL)
        return false;
    list->names = names;
    list->capacity = capacity;
    return true;
}

static bool add_name(void *target, const char *name)
{
    struct name_list *list = target;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    char *copy = make_room(list) ? strdup(name) : NULL;
    if (copy == NULL) {
        errno = ENOMEM;
        return false;
    }
    list->names[list->count++] = copy;
    return true;
}

/* Returns all names, or an error and no names. */
static int list_names(const char *directory, char ***names_out, int *count_out)
{
    struct name_list list = {.names = NULL};
    *names_out = NULL;
    *count_out = 0;
    if (!file_each(directory, add_name, &list)) {
        int error = errno;
        free_names(list.names, list.count);
        atomic_store(&list_error, error);
        return error;
    }
    *names_out = list.names;
    *count_out = list.count;
    return 0;
}

int os_hooks_list_error(void)
{
    return atomic_load(&list_error);
}

/* ---- Syncing ------------------------------------------------------------ */

static atomic_uint syncs_failed;

/* Counts a failure before the library sees it, and thus before another thread
 * can sync the same file. Repeats a sync that a signal has interrupted. */
static int sync_file(int fd)
{
    int error = 0;
    do
        error = fdatasync(fd) == 0 ? 0 : errno;
    while (error == EINTR);
    if (error != 0)
        atomic_fetch_add(&syncs_failed, 1);
    return error;
}

unsigned os_hooks_syncs_failed(void)
{
    return atomic_load(&syncs_failed);
}

/* ---- Reading ------------------------------------------------------------ */

/* Nanoseconds. A read from the page cache of the system takes less than 10 us,
 * a read from a disk more than 50 us. */
enum { SLOW_READ_NS = 30000 };

static _Thread_local struct kx_disk_reads reads;

static ssize_t read_file(int fd, void *bytes, size_t size, off_t at)
{
    uint64_t began_ns = kx_monotonic_ns();
    ssize_t got = pread(fd, bytes, size, at);
    int error = errno;
    reads.count++;
    reads.slow += kx_monotonic_ns() - began_ns >= SLOW_READ_NS;
    errno = error;
    return got;
}

struct kx_disk_reads os_hooks_reads(void)
{
    return reads;
}

void os_hooks_install(void)
{
    note("", 0);
    atomic_store(&list_error, 0);
    db_env_set_func_open(open_file);
    db_env_set_func_dirlist(list_names);
    db_env_set_func_dirfree(free_names);
    db_env_set_func_fsync(sync_file);
    db_env_set_func_pread(read_file);
}
