/* Once a second the archiver copies what was added to the log: complete files
 * compressed, the file that is being written as it grows. It makes a backup,
 * from which a restore begins, if the archive has none, and at an interval.
 * Errors are logged, and the work is retried a second later; log files are kept
 * until then. kindex/object_store.h hides where the archive's objects lie. */
#include "backup/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/archive_fence.h"
#include "backup/archive_names.h"
#include "backup/archive_prune.h"
#include "backup/archive_timeline.h"
#include "backup/backup.h"
#include "backup/backup_time.h"
#include "backup/object_dir.h"
#include "storage/bdb_engine.h"
#include "storage/log_files.h"
#include "base/file.h"
#include "base/cond_wait.h"
#include "backup/zstd_file.h"

enum {
    RETRY_MS = 10000,
    COPY_MS = 1000,     /* between two copies of the log */
    LEASE_RENEWALS = 4, /* of a lease that nothing is written in */
    AWAIT_MS = 200,     /* between two looks of a flush that waits */
    CLOSING_MS = 5000,  /* that it waits when the store closes */
    PART_PATH = ARCHIVE_PATH + 32
};

struct archive {
    struct kx_store *store;
    const struct kx_object_store *objects;
    bool begun; /* the archive's contents are known: timeline to base_ms are
                 * set */
    char timeline[ARCHIVE_PATH];
    uint32_t next;      /* first log file that is not complete in the archive */
    uint64_t tail_size; /* bytes of that file in the archive */
    int64_t base_ms;    /* Unix time of the last base; 0: a base is needed */
    int64_t failed_ms;  /* Unix time of the last failed attempt at a base */
    uint64_t copied_ns; /* kx_monotonic_ns of the last copy of the log */
    struct archive_fence fence; /* if standbys follow the archive */
    uint64_t piece_ns; /* kx_monotonic_ns from which its lease counts */
    bool fenced;       /* another process archives now */
    bool failing;      /* the last copy of the log failed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;   /* signalled when `stopping` is set */
    bool stopping;         /* guarded by `lock` */
    pthread_cond_t had;    /* broadcast when `has` grows or the store fails */
    struct log_place want; /* of a flush that waits; guarded by `lock` */
    struct log_place has;  /* the archive has the log up to here; guarded by
                            * `lock` */
};

static void log_failure(const char *what, const struct kx_fault *fault)
{
    kx_log(KX_LOG_ERROR, "archive", "step=%s detail=\"%s\"", what,
           fault->detail);
}

/* ---- The fence ----------------------------------------------------------- */

static uint64_t lease_ns(const struct archive *archive)
{
    return archive->store->options.fence_lease_ms * KX_MS_NS;
}

/* The store fails: what is not in the archive yet belongs to no server any
 * more, and a checkpoint would not change that. */
static void end_fenced(struct archive *archive, const struct kx_fault *fault)
{
    archive->fenced = true;
    atomic_store(&archive->store->stats.fenced, true);
    kx_log(KX_LOG_ERROR, "fenced", "detail=\"%s\"", fault->detail);
    env_fail(archive->store->env);
    pthread_cond_broadcast(&archive->had);
}

static bool is_piece_due(const struct archive *archive, struct log_place end,
                         uint64_t now_ns)
{
    const struct archive_fence *fence = &archive->fence;
    return fence->first == 0 || end.file != fence->piece.end.file ||
           end.offset != fence->piece.end.offset ||
           now_ns - archive->piece_ns >= lease_ns(archive) / LEASE_RENEWALS;
}

/* Renews the lease if that is due, by taking the next piece number for the log
 * now in the archive: up to archive->next and its tail. The lease counts from
 * `began_ns`, when the end of the log had not been looked up yet, so a promoted
 * standby lacks at most the commits that were acknowledged within one lease. A
 * standby that takes the next number waits for the lease from that moment. */
static enum kx_status put_piece(struct archive *archive, uint64_t began_ns,
                                struct kx_fault *fault)
{
    struct archive_fence *fence = &archive->fence;
    struct log_place end = {archive->next, (uint32_t)archive->tail_size};
    if (!archive->store->options.followed ||
        !is_piece_due(archive, end, began_ns))
        return KX_OK;
    enum kx_status status = archive_fence_take(fence, end, NULL, fault);
    if (status != KX_OK)
        return status;
    archive->piece_ns = began_ns;
    atomic_store(&archive->store->stats.piece, fence->piece.number);
    atomic_store(&archive->store->stats.piece_until_ns,
                 began_ns + lease_ns(archive));
    bdb_engine_lease(archive->store->env, began_ns + lease_ns(archive));
    return KX_OK;
}

/* ---- Waiting for the archive ----------------------------------------------
 */

static bool is_before(struct log_place a, struct log_place b)
{
    return a.file < b.file || (a.file == b.file && a.offset < b.offset);
}

static void note_archived(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    archive->has =
        (struct log_place){archive->next, (uint32_t)archive->tail_size};
    pthread_cond_broadcast(&archive->had);
    pthread_mutex_unlock(&archive->lock);
}

static bool is_awaited(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    bool awaited = is_before(archive->has, archive->want);
    pthread_mutex_unlock(&archive->lock);
    return awaited;
}

/* Inside the lock. KX_FAILED: the archive will not have it. */
static enum kx_status await_place(struct archive *archive)
{
    uint64_t open_ns = kx_monotonic_ns(); /* when the store was last open */
    while (is_before(archive->has, archive->want)) {
        uint64_t now_ns = kx_monotonic_ns();
        if (!atomic_load(&archive->store->closing))
            open_ns = now_ns;
        if (now_ns - open_ns > (uint64_t)CLOSING_MS * KX_MS_NS)
            env_fail(archive->store->env);
        if (env_failed(archive->store->env))
            return KX_FAILED;
        cond_wait_until(&archive->had, &archive->lock,
                        now_ns + AWAIT_MS * KX_MS_NS);
    }
    return KX_OK;
}

/* The writer's: what is on disk now is in the archive afterwards. If the store
 * closes and the archive cannot be reached, the store fails, so that nothing
 * shows what the archive lacks. */
static enum kx_status await_archive(void *context)
{
    struct archive *archive = context;
    struct log_place end;
    enum kx_status status = log_files_end(archive->store->env, &end);
    if (status != KX_OK)
        return status;
    pthread_mutex_lock(&archive->lock);
    archive->want = end;
    pthread_cond_signal(&archive->stop);
    status = await_place(archive);
    pthread_mutex_unlock(&archive->lock);
    return status;
}

/* ---- The log ------------------------------------------------------------ */

static void live_path(const struct archive *archive, char *out)
{
    char name[LOG_NAME];
    log_files_name(archive->next, name);
    snprintf(out, ARCHIVE_PATH, "%s/%s", archive->store->options.directory,
             name);
}

/* The path of a temporary file that becomes an object once it is complete. */
static void part_path(const struct archive *archive, const char *name,
                      char *out)
{
    if (archive->objects->is_directory)
        snprintf(out, PART_PATH, "%s/%s.part", archive->timeline, name);
    else
        snprintf(out, PART_PATH, "%s/archive-%s.part",
                 archive->store->options.directory, name);
}

/* Copies the next log file, which is complete, compressed. */
static enum kx_status put_log(struct archive *archive, struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    struct kx_fault ignored;
    char from[ARCHIVE_PATH], part[PART_PATH], to[ARCHIVE_PATH];
    struct kx_object_put put = {.file = part, .path = to};
    live_path(archive, from);
    part_path(archive, "log", part);
    archive_log_path(archive->timeline, archive->next, to);
    enum kx_status status = zstd_file_compress(from, part, fault);
    if (status == KX_OK)
        status = objects->put(objects->self, &put, fault);
    if (status != KX_OK)
        return status;
    archive_tail_path(archive->timeline, archive->next, to);
    (void)objects->remove(objects->self, to, &ignored);
    archive->next++;
    archive->tail_size = 0;
    log_files_keep_from(archive->store->env, archive->next);
    return KX_OK;
}

/* Copies the new bytes of the file that is being written, up to those that are
 * on disk. `end`: bytes of the file on disk. */
static enum kx_status put_tail(struct archive *archive, uint64_t end,
                               struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    char from[ARCHIVE_PATH], to[ARCHIVE_PATH];
    const uint64_t range[] = {archive->tail_size, end};
    if (end <= archive->tail_size)
        return KX_OK;
    live_path(archive, from);
    archive_tail_path(archive->timeline, archive->next, to);
    enum kx_status status =
        objects->grow(objects->self, from, to, range, fault);
    if (status == KX_OK)
        archive->tail_size = end;
    return status;
}

static enum kx_status put_logs(struct archive *archive, struct kx_fault *fault)
{
    struct log_place end;
    uint64_t began_ns = kx_monotonic_ns();
    enum kx_status status = log_files_end(archive->store->env, &end);
    while (status == KX_OK && archive->next < end.file)
        status = put_log(archive, fault);
    if (status == KX_OK)
        status = put_tail(archive, end.offset, fault);
    if (status == KX_OK)
        status = put_piece(archive, began_ns, fault);
    if (status == KX_OK)
        note_archived(archive);
    return status;
}

static void copy_log(void *context)
{
    struct archive *archive = context;
    struct kx_fault fault = {.detail = ""};
    uint64_t now_s = (uint64_t)kx_now_ms() / 1000;
    enum kx_status status =
        archive->fenced ? KX_IN_USE : put_logs(archive, &fault);
    archive->failing = status != KX_OK;
    if (status == KX_IN_USE && !archive->fenced)
        end_fenced(archive, &fault);
    else if (status != KX_OK && !archive->fenced)
        log_failure("log", &fault);
    else if (status == KX_OK)
        atomic_store(&archive->store->stats.archive_s, now_s);
    archive->copied_ns = kx_monotonic_ns();
}

/* Called during work that may take minutes. */
static void copy_log_each_second(void *context)
{
    struct archive *archive = context;
    if ((!archive->failing && is_awaited(archive)) ||
        kx_monotonic_ns() - archive->copied_ns >= COPY_MS * KX_MS_NS)
        copy_log(context);
}

/* ---- Bases -------------------------------------------------------------- */

static bool is_stopping(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    bool stopping = archive->stopping;
    pthread_mutex_unlock(&archive->lock);
    return stopping;
}

/* A backup of much data takes minutes. Meanwhile the log is copied as usual,
 * and closing the store does not wait for the end of the backup. */
static enum kx_status write_backup(struct archive *archive,
                                   struct kx_backup *backup, FILE *file,
                                   struct kx_fault *fault)
{
    struct kx_buffer out;
    enum kx_status status = KX_OK;
    kx_buffer_init(&out, backup);
    while (status == KX_OK) {
        if (is_stopping(archive))
            return KX_STOPPING;
        copy_log_each_second(archive);
        out.size = 0;
        status = kx_backup_next(backup, &out);
        if (out.size != 0 && fwrite(out.data, 1, out.size, file) != out.size)
            return file_failed("backup", fault);
    }
    if (status != KX_END)
        return kx_fail(fault, status, "%s", kx_status_title(status));
    return fflush(file) == 0 && fsync(fileno(file)) == 0
               ? KX_OK
               : file_failed("backup", fault);
}

/* The name describes the contents, so it is known only when the base is
 * complete. */
static enum kx_status name_base(struct archive *archive,
                                const struct kx_backup *backup,
                                const char *part, struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    char path[2 * ARCHIVE_PATH];
    struct kx_object_put put = {part, path, copy_log, archive};
    struct archive_base base = {.stamp = backup_stamp(backup),
                                .first_log = backup_first_log(backup),
                                .at_ms = kx_now_ms()};
    archive_base_name(&base);
    snprintf(path, sizeof path, "%s/%s", archive->timeline, base.name);
    enum kx_status status = objects->put(objects->self, &put, fault);
    if (status != KX_OK)
        return status;
    archive->base_ms = base.at_ms;
    backup_time_note(archive->store->options.directory,
                     &archive->store->stats.backup_s);
    kx_log(KX_LOG_INFO, "archived", "base=%s", path);
    return KX_OK;
}

static enum kx_status put_base(struct archive *archive, struct kx_fault *fault)
{
    char part[PART_PATH];
    struct kx_backup *backup = NULL;
    enum kx_status status =
        kx_backup_begin(archive->store, archive, &backup, fault);
    if (status != KX_OK)
        return status;
    backup_leave_unnoted(backup);
    part_path(archive, "base", part);
    FILE *file = file_write(part, O_TRUNC);
    status = file == NULL ? file_failed(part, fault)
                          : write_backup(archive, backup, file, fault);
    if (file != NULL && fclose(file) != 0 && status == KX_OK)
        status = file_failed(part, fault);
    if (status == KX_OK)
        status = name_base(archive, backup, part, fault);
    if (status != KX_OK)
        unlink(part); /* the log may need the space */
    talloc_free(backup);
    return status;
}

/* ---- What the archive has ------------------------------------------------ */

static void note_newest(void *target, const struct archive_base *base)
{
    struct archive_base *newest = target;
    if (newest->at_ms == 0 || archive_compare_bases(base, newest) > 0)
        *newest = *base;
}

struct log_count {
    uint32_t first, end;
    uint32_t complete; /* number of log files from first on and below end */
};

static bool count_log(void *target, const struct kx_object *object)
{
    struct log_count *count = target;
    uint32_t number = archive_log_number(object->name);
    const char *dot = strrchr(object->name, '.');
    if (number >= count->first && number < count->end && dot != NULL &&
        strcmp(dot, ".zst") == 0)
        count->complete++;
    return true;
}

/* If the store was open without its archive, it may have removed log files that
 * the archive lacks. The log after the base then ends at the first such file.
 */
static enum kx_status look_for_gap(struct archive *archive,
                                   const struct archive_base *base,
                                   struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    struct log_count count = {base->first_log, archive->next, 0};
    enum kx_status status = objects->list(objects->self, archive->timeline,
                                          count_log, &count, fault);
    if (status == KX_OK &&
        (count.end <= count.first || count.complete == count.end - count.first))
        archive->base_ms = base->at_ms;
    return status;
}

static enum kx_status find_newest(struct archive *archive,
                                  struct kx_fault *fault)
{
    struct archive_base newest = {.at_ms = 0};
    enum kx_status status = archive_bases(archive->objects, archive->timeline,
                                          note_newest, &newest, fault);
    if (status == KX_OK && newest.at_ms != 0)
        status = look_for_gap(archive, &newest, fault);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Advances past the log files that are in the archive. KX_ABSENT: past all. */
static enum kx_status skip_archived(struct archive *archive, uint32_t last,
                                    struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    char path[ARCHIVE_PATH];
    uint64_t size;
    for (; archive->next < last; archive->next++) {
        archive_log_path(archive->timeline, archive->next, path);
        enum kx_status status =
            objects->size(objects->self, path, &size, fault);
        if (status != KX_OK)
            return status;
    }
    return KX_ABSENT;
}

/* Log files that are in the archive are not copied again. */
static enum kx_status find_next(struct archive *archive, struct kx_fault *fault)
{
    const struct kx_object_store *objects = archive->objects;
    char path[ARCHIVE_PATH];
    uint32_t last;
    const char *directory = archive->store->options.directory;
    if (!log_files_span(directory, &archive->next, &last))
        return file_failed(directory, fault);
    enum kx_status status = skip_archived(archive, last, fault);
    if (status != KX_ABSENT)
        return status;
    archive_tail_path(archive->timeline, archive->next, path);
    status = objects->size(objects->self, path, &archive->tail_size, fault);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    log_files_keep_from(archive->store->env, archive->next);
    return KX_OK;
}

/* Takes the first piece number, but no lease: commits of an earlier process may
 * be missing in the archive. */
static enum kx_status begin_fence(struct archive *archive,
                                  struct kx_fault *fault)
{
    const struct kx_options *options = &archive->store->options;
    enum kx_status status =
        archive_fence_init(&archive->fence, options, options->archive,
                           options->fence_lease_ms, fault);
    return status == KX_OK ? put_piece(archive, 0, fault) : status;
}

static enum kx_status begin(struct archive *archive, struct kx_fault *fault)
{
    char part[PART_PATH];
    enum kx_status status = archive_timeline_begin(
        archive, &archive->store->options, archive->timeline, fault);
    part_path(archive, "base", part);
    unlink(part); /* left by a process that was killed */
    if (status == KX_OK)
        status = find_next(archive, fault);
    if (status == KX_OK)
        status = find_newest(archive, fault);
    if (status == KX_OK)
        status = begin_fence(archive, fault);
    archive->begun = status == KX_OK;
    if (archive->begun)
        copy_log(archive);
    return status;
}

/* ---- The thread --------------------------------------------------------- */

/* Returns whether less time than the interval has passed; false if the clock
 * was set back. */
static bool is_recent(int64_t then_ms, int64_t interval_ms, int64_t now_ms)
{
    return then_ms != 0 && then_ms <= now_ms && now_ms - then_ms < interval_ms;
}

static void run_once(struct archive *archive)
{
    struct kx_fault fault = {.detail = ""};
    int64_t interval_ms = archive->store->options.archive_interval_ms;
    int64_t now_ms = kx_now_ms();
    enum kx_status status = archive->begun ? KX_OK : begin(archive, &fault);
    if (status == KX_IN_USE)
        end_fenced(archive, &fault);
    else if (status != KX_OK)
        log_failure("begin", &fault);
    if (status != KX_OK)
        return;
    copy_log(archive);
    if (archive->fenced || is_recent(archive->base_ms, interval_ms, now_ms) ||
        is_recent(archive->failed_ms, RETRY_MS, now_ms))
        return;
    status = put_base(archive, &fault);
    if (status == KX_OK)
        archive_remove_old(archive->objects, archive->timeline,
                           archive->store->options.archive_keep,
                           copy_log_each_second, archive);
    if (status == KX_OK || is_stopping(archive))
        return;
    log_failure("backup", &fault);
    archive->failed_ms = now_ms;
}

/* Renewals are attempts only: a lease needs several. */
static bool wait_for_log(struct archive *archive)
{
    uint64_t wait_ns = COPY_MS * KX_MS_NS;
    if (archive->store->options.followed &&
        lease_ns(archive) / LEASE_RENEWALS < wait_ns)
        wait_ns = lease_ns(archive) / LEASE_RENEWALS;
    uint64_t until_ns = kx_monotonic_ns() + wait_ns;
    pthread_mutex_lock(&archive->lock);
    if (!archive->stopping &&
        (archive->failing || !is_before(archive->has, archive->want)))
        cond_wait_until(&archive->stop, &archive->lock, until_ns);
    bool stopping = archive->stopping;
    pthread_mutex_unlock(&archive->lock);
    return !stopping;
}

static void *run(void *argument)
{
    struct archive *archive = argument;
    struct kx_fault fault;
    pthread_setname_np(pthread_self(), "archive");
    do {
        run_once(archive);
    } while (wait_for_log(archive) && !env_failed(archive->store->env));
    if (archive->begun && !env_failed(archive->store->env) &&
        put_logs(archive, &fault) != KX_OK)
        log_failure("log", &fault);
    return NULL;
}

/* An archive that cannot be reached now is tried again later; log files are
 * kept meanwhile. */
static enum kx_status begin_at_start(struct archive *archive,
                                     struct kx_fault *fault)
{
    enum kx_status status = begin(archive, fault);
    if (status != KX_UNREACHABLE)
        return status;
    log_failure("begin", fault);
    return KX_OK;
}

enum kx_status archive_start(struct kx_store *store, struct kx_fault *fault)
{
    struct kx_fault why = {.detail = ""};
    if (store->options.archive == NULL)
        return KX_OK;
    struct archive *archive = talloc_zero(store, struct archive);
    if (archive == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    archive->store = store;
    archive->objects = object_store_of(store->options.objects);
    pthread_mutex_init(&archive->lock, NULL);
    pthread_cond_init(&archive->stop, NULL);
    pthread_cond_init(&archive->had, NULL);
    if (store->options.followed)
        bdb_engine_lease(store->env, 1); /* until the first piece */
    enum kx_status status = begin_at_start(archive, &why);
    if (status == KX_OK &&
        pthread_create(&archive->thread, NULL, run, archive) != 0)
        status = kx_fail(&why, KX_NO_MEMORY, "cannot start a thread");
    if (status != KX_OK)
        return kx_fail(fault, status, "%s", why.detail);
    store->archive = archive;
    bdb_engine_mark_batches(store->env);
    if (store->options.archive_sync)
        bdb_engine_await(store->env, await_archive, archive);
    return KX_OK;
}

void archive_stop(struct kx_store *store)
{
    struct archive *archive = store->archive;
    if (archive == NULL)
        return;
    pthread_mutex_lock(&archive->lock);
    archive->stopping = true;
    pthread_cond_signal(&archive->stop);
    pthread_mutex_unlock(&archive->lock);
    if (archive->objects->hurry != NULL)
        archive->objects->hurry(archive->objects->self);
    pthread_join(archive->thread, NULL);
}
