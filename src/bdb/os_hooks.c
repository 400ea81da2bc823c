/* The hook of the library knows no environment, so what is noted is that of
 * all. */
#include "bdb/os_hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <db.h>

#include "bdb/log_prealloc.h"

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

/* That a file is not there, or is there already, is an answer. */
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

void os_hooks_install(void)
{
    note("", 0);
    db_env_set_func_open(open_file);
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
