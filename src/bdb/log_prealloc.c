/* A thread fills and syncs a file under another name. The thread that needs a
 * new log file renames it and syncs the directory: a log file whose name is
 * lost in a power cut is lost. */
#include "bdb/log_prealloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "bdb/checkpoint_throttle.h"
#include "base/file.h"
#include "base/cond_wait.h"

enum {
    STEP_BYTES = 512 << 10, /* between two syncs: flushes must not wait long */
    STEP_NS = KX_SECOND_NS / 10, /* longest time between two steps */
    RETRY_NS =
        KX_SECOND_NS /* if the disk is full; also before the first file */
};

static const char READY[] = "next-log";
static const char UNDER_WAY[] = "next-log.part";

struct log_prealloc {
    char *directory;
    char *ready; /* path of the finished file */
    char *under_way;
    size_t bytes;
    uint64_t reserve;
    pthread_t thread;
    atomic_bool stopping;
};

/* The library's hook does not know which environment it is called for, so the
 * threads of all environments share one condition. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t taken = PTHREAD_COND_INITIALIZER;

/* ---- Using the file ----------------------------------------------------- */

static void tell(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&taken);
    pthread_mutex_unlock(&lock);
}

/* Renames the finished file of the directory to DIRECTORY/log.NUMBER. */
static bool take(const char *path, const char *name)
{
    char ready[PATH_MAX];
    int length = (int)(name - path);
    int written = snprintf(ready, sizeof ready, "%.*s%s", length, path, READY);
    if (written < 0 || (size_t)written >= sizeof ready ||
        rename(ready, path) != 0)
        return true;
    tell();
    return file_sync(path);
}

static bool is_log(const char *name)
{
    return strncmp(name, "log.", 4) == 0 &&
           strspn(name + 4, "0123456789") == strlen(name + 4);
}

/* Never replaces an existing log file. */
bool log_prealloc_take(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (!is_log(name) || access(path, F_OK) == 0)
        return true;
    return errno == ENOENT && take(path, name);
}

/* ---- Making the file ---------------------------------------------------- */

/* Returns whether the rest of the file fits on the disk: a file that is never
 * finished would take space that is needed elsewhere. */
static bool fits(const struct log_prealloc *prealloc, size_t done)
{
    return file_free_bytes(prealloc->directory) >=
           prealloc->bytes - done + prealloc->reserve;
}

static bool fill(const struct log_prealloc *prealloc, int file)
{
    uint8_t *zeros = calloc(1, STEP_BYTES);
    size_t done = 0;
    while (zeros != NULL && done < prealloc->bytes && fits(prealloc, done) &&
           !atomic_load(&prealloc->stopping)) {
        uint64_t began_ns = kx_monotonic_ns();
        size_t rest = prealloc->bytes - done;
        ssize_t written = pwrite(
            file, zeros, rest < STEP_BYTES ? rest : STEP_BYTES, (off_t)done);
        if (written <= 0 || fdatasync(file) != 0)
            break;
        done += (size_t)written;
        checkpoint_throttle_pause(began_ns, STEP_NS);
    }
    free(zeros);
    return done == prealloc->bytes;
}

/* First removes the unfinished file of a killed server, which takes space. */
static bool make(const struct log_prealloc *prealloc)
{
    unlink(prealloc->under_way);
    if (!fits(prealloc, 0))
        return false;
    int file = open(prealloc->under_way,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool good = fill(prealloc, file);
    close(file);
    if (good && rename(prealloc->under_way, prealloc->ready) == 0)
        return true;
    unlink(prealloc->under_way);
    return false;
}

/* Waits until a file is used, at most for RETRY_NS. The caller holds the lock.
 */
static void wait_a_while(void)
{
    cond_wait_until(&taken, &lock, kx_monotonic_ns() + RETRY_NS);
}

/* Waits before it makes the first file: a store that is open only for a moment
 * needs none. */
static void *run(void *argument)
{
    struct log_prealloc *prealloc = argument;
    bool hold = true;
    pthread_setname_np(pthread_self(), "log-files");
    pthread_mutex_lock(&lock);
    while (!atomic_load(&prealloc->stopping)) {
        if (hold)
            wait_a_while();
        else if (access(prealloc->ready, F_OK) == 0)
            pthread_cond_wait(&taken, &lock);
        hold = false;
        if (atomic_load(&prealloc->stopping) ||
            access(prealloc->ready, F_OK) == 0)
            continue;
        pthread_mutex_unlock(&lock);
        hold = !make(prealloc);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int stop(struct log_prealloc *prealloc)
{
    pthread_mutex_lock(&lock);
    atomic_store(&prealloc->stopping, true);
    pthread_cond_broadcast(&taken);
    pthread_mutex_unlock(&lock);
    pthread_join(prealloc->thread, NULL);
    return 0;
}

struct log_prealloc *log_prealloc_start(void *mem, const char *directory,
                                        size_t bytes, uint64_t reserve)
{
    struct log_prealloc *prealloc = talloc_zero(mem, struct log_prealloc);
    if (prealloc == NULL)
        return NULL;
    prealloc->bytes = bytes;
    prealloc->reserve = reserve;
    prealloc->directory = talloc_strdup(prealloc, directory);
    prealloc->ready = talloc_asprintf(prealloc, "%s/%s", directory, READY);
    prealloc->under_way =
        talloc_asprintf(prealloc, "%s/%s", directory, UNDER_WAY);
    if (prealloc->directory == NULL || prealloc->ready == NULL ||
        prealloc->under_way == NULL ||
        pthread_create(&prealloc->thread, NULL, run, prealloc) != 0) {
        talloc_free(prealloc);
        return NULL;
    }
    talloc_set_destructor(prealloc, stop);
    return prealloc;
}
