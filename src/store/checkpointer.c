/* The checkpointer thread's loop. It never touches entries: a checkpoint runs
 * beside the writer, as the library allows. */
#include "store/checkpointer.h"

#include <pthread.h>
#include <talloc.h>

#include "base/cond_wait.h"
#include "bdb/page_check.h"
#include "storage/disk_guard.h"
#include "storage/env.h"
#include "storage/log_end.h"
#include "storage/recovery.h"
#include "storage/directory.h"

enum { PAGES_A_TURN = 8192 /* checked per second: 32 MiB */ };

struct checkpointer {
    struct env *env;
    const struct kx_options *options;
    uint64_t growth_us; /* growth of recovery's cost during a checkpoint */
    struct page_walk *unchecked;
    bool unread; /* the next page could not be read, and that was logged */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop; /* signalled when `stopping` is set */
    bool stopping;       /* guarded by `lock` */
};

bool checkpointer_costly(struct env *env, uint64_t growth_us,
                         uint32_t recovery_us)
{
    return recovery_cost_most(env) + growth_us >= recovery_us &&
           recovery_cost_now(env).us + growth_us >= recovery_us;
}

/* Writes a checkpoint after an interval, or sooner after enough log, or when
 * recovery becomes costly. Log written during this checkpoint adds to the cost
 * until the next one is complete, so a costly checkpoint hurries. Returns
 * whether one was completed and the next one is already due, because of the log
 * written meanwhile and as much again. */
static bool checkpoint(struct checkpointer *checkpointer, unsigned *seconds,
                       bool now)
{
    const struct kx_options *options = checkpointer->options;
    struct env *env = checkpointer->env;
    bool costly =
        checkpointer_costly(env, checkpointer->growth_us, options->recovery_us);
    bool due = ++*seconds >= options->checkpoint_seconds || now || costly;
    uint32_t kilobytes = due ? 0 : options->checkpoint_bytes >> 10;
    if (due)
        *seconds = 0;
    uint64_t before = env_checkpoints(env);
    env_checkpoint(env, kilobytes,
                   costly ? CHECKPOINT_HURRIES : CHECKPOINT_PAUSES);
    if (env_checkpoints(env) == before)
        return false;
    checkpointer->growth_us = recovery_cost_now(env).us;
    return 2 * checkpointer->growth_us >= options->recovery_us;
}

/* Waits a second, unless the next checkpoint is due. Returns false if the store
 * is stopping. */
static bool wait_second(struct checkpointer *checkpointer, bool due)
{
    uint64_t until_ns = kx_monotonic_ns() + KX_SECOND_NS;
    pthread_mutex_lock(&checkpointer->lock);
    if (!checkpointer->stopping && !due)
        cond_wait_until(&checkpointer->stop, &checkpointer->lock, until_ns);
    bool stopping = checkpointer->stopping;
    pthread_mutex_unlock(&checkpointer->lock);
    return !stopping;
}

/* If a page is damaged, the process must end: the next start checks all pages,
 * and refuses or restores the directory. Pages that cannot be read now are
 * tried again. */
static void check_next_pages(struct checkpointer *checkpointer)
{
    struct kx_fault fault = {.detail = ""};
    const char *directory = checkpointer->options->directory;
    enum kx_status status =
        page_check(directory, checkpointer->unchecked, PAGES_A_TURN, &fault);
    bool unread = status != KX_OK && status != KX_DAMAGED;
    if (unread && !checkpointer->unread)
        kx_log(KX_LOG_WARNING, "unchecked", "directory=%s detail=\"%s\"",
               directory, fault.detail);
    checkpointer->unread = unread;
    if (status != KX_DAMAGED)
        return;
    kx_log(KX_LOG_ERROR, "damaged", "directory=%s detail=\"%s\"", directory,
           fault.detail);
    directory_suspect_mark(directory);
    env_fail(checkpointer->env);
}

static void check_pages(struct checkpointer *checkpointer)
{
    struct page_walk *walk = checkpointer->unchecked;
    if (walk != NULL && walk->tables > 0 && !env_failed(checkpointer->env))
        check_next_pages(checkpointer);
}

/* When the disk becomes full, writes a checkpoint while there is still space
 * for one, so that recovery has little to write. */
static void *checkpointer_run(void *argument)
{
    struct checkpointer *checkpointer = argument;
    struct disk_guard *disk = env_disk(checkpointer->env);
    unsigned seconds = 0;
    bool full = atomic_load(&disk->full);
    bool due = false;
    pthread_setname_np(pthread_self(), "checkpoints");
    while (wait_second(checkpointer, due)) {
        bool was_full = full;
        disk_guard_keep(disk);
        full = atomic_load(&disk->full);
        if (!env_failed(checkpointer->env) &&
            log_witness_idle(checkpointer->env))
            env_flush(checkpointer->env);
        due = !env_failed(checkpointer->env) &&
              checkpoint(checkpointer, &seconds, full && !was_full);
        check_pages(checkpointer);
    }
    return NULL;
}

struct checkpointer *checkpointer_start(void *mem, struct env *env,
                                        const struct kx_options *options,
                                        struct page_walk *unchecked)
{
    struct checkpointer *checkpointer = talloc_zero(mem, struct checkpointer);
    if (checkpointer == NULL)
        return NULL;
    checkpointer->env = env;
    checkpointer->options = options;
    checkpointer->unchecked = unchecked;
    pthread_mutex_init(&checkpointer->lock, NULL);
    pthread_cond_init(&checkpointer->stop, NULL);
    if (pthread_create(&checkpointer->thread, NULL, checkpointer_run,
                       checkpointer) == 0)
        return checkpointer;
    talloc_free(checkpointer);
    return NULL;
}

void checkpointer_stop(struct checkpointer *checkpointer)
{
    pthread_mutex_lock(&checkpointer->lock);
    checkpointer->stopping = true;
    pthread_cond_signal(&checkpointer->stop);
    pthread_mutex_unlock(&checkpointer->lock);
    pthread_join(checkpointer->thread, NULL);
}
