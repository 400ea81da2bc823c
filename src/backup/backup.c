/* A backup of the open store, made while the store is read and written.
 *
 * It copies files, not entries. A list of all entries in one state of the store
 * would need old versions of pages, which this store does not have, or writers
 * that wait; and a restore would have to build every tree and index again.
 *
 * First the data files are copied, page by page. Each page has a right
 * checksum, but pages are from different moments. Then the log is copied, from
 * the first file that the last checkpoint needs up to what is on disk by then.
 * The copied log covers every change in the pages, and has every change that a
 * page lacks. So replaying the log turns all pages into one state, that of the
 * end of the log, with every commit that was answered before the backup began.
 * During the backup no log file is removed, and no reader or writer waits.
 *
 * A data file may become shorter meanwhile: Berkeley DB truncates it when its
 * last page becomes free. The missing pages are copied as zeros, like a hole in
 * the file. The replay of the log ignores such a page until the log frees the
 * page or allocates it again (see CHECK_LSN in the library's log.h).
 *
 * With more log, the same backup leads to later states (archive_restore.c). */
#include "backup/backup.h"

#include "backup/backup_time.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "storage/log_files.h"
#include "backup/backup_pack.h"
#include "bdb/page_check.h"

enum { SLICE_PAGES = 16 /* copied in a fraction of a millisecond */ };
/* A page that is being written is right once the write has ended. That takes
 * long only if the writing thread does not get the processor. */
static const uint64_t WRONG_NS = 10000000000;

/* Files to copy besides tables and log, if they exist. */
static const char *const EXTRAS[] = {"format"};
enum { EXTRA_COUNT = sizeof EXTRAS / sizeof *EXTRAS };

enum backup_phase { COPY_EXTRAS, COPY_TABLES, COPY_LOGS, COPY_END };

struct kx_backup {
    struct kx_store *store;
    struct backup_pack *pack;
    enum backup_phase phase;
    uint32_t next; /* number of the next extra, table or log file */
    struct log_place end;
    uint32_t first_log;
    uint64_t stamp;
    bool unnoted;
    int fd; /* the file that is being copied, or -1 */
    char name[LOG_NAME];
    bool paged;
    uint64_t size;
    uint64_t done;     /* bytes of the file copied so far */
    uint64_t wrong_ns; /* when a wrong page was first read; 0: no wrong page */
    uint8_t bytes[SLICE_PAGES * PAGE_BYTES];
};

static int finish(struct kx_backup *backup)
{
    if (backup->fd >= 0)
        close(backup->fd);
    log_files_release(backup->store->env);
    atomic_fetch_sub(&backup->store->backups, 1);
    return 0;
}

/* Reads the number of the first log file while log files are held, so that the
 * file cannot be removed. */
enum kx_status kx_backup_begin(struct kx_store *store, void *mem,
                               struct kx_backup **backup_out,
                               struct kx_fault *fault)
{
    if (store->env == NULL)
        return kx_fail(fault, KX_ABSENT,
                       "the rows are in a database, which has its "
                       "own backups: pg_dump, or continuous archiving");
    struct kx_backup *backup = talloc_zero(mem, struct kx_backup);
    uint32_t last;
    if (backup == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (atomic_fetch_add(&store->backups, 1) >= KX_BACKUPS_MAX) {
        atomic_fetch_sub(&store->backups, 1);
        talloc_free(backup);
        return kx_fail(fault, KX_BUSY, "%d backups are already running",
                       KX_BACKUPS_MAX);
    }
    log_files_hold(store->env);
    backup->store = store;
    backup->fd = -1;
    talloc_set_destructor(backup, finish);
    bool logged =
        log_files_span(store->options.directory, &backup->first_log, &last);
    backup->stamp = atomic_load(&store->stats.stamp);
    backup->pack = backup_pack_create(backup);
    *backup_out = backup;
    if (backup->pack != NULL && logged && backup->first_log != 0)
        return KX_OK;
    talloc_free(backup);
    return kx_fail(fault, KX_NO_MEMORY, "no memory, or no log");
}

/* Opens the next file and begins its member. KX_ABSENT: all files are done. */
static enum kx_status open_file(struct kx_backup *backup, const char *name)
{
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", backup->store->options.directory,
             name);
    backup->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (backup->fd < 0 && errno == ENOENT)
        return KX_ABSENT;
    if (backup->fd < 0 || fstat(backup->fd, &about) != 0) {
        kx_log(KX_LOG_ERROR, "backup", "file=%s error=\"%s\"", path,
               strerror(errno));
        return KX_FAILED;
    }
    snprintf(backup->name, sizeof backup->name, "%s", name);
    backup->done = 0;
    backup->paged = backup->phase == COPY_TABLES;
    backup->size = (uint64_t)about.st_size;
    if (backup->paged)
        backup->size -= backup->size % PAGE_BYTES;
    if (backup->phase == COPY_LOGS && backup->next == backup->end.file)
        backup->size = backup->end.offset;
    backup_pack_member(backup->pack, name, backup->size);
    return KX_OK;
}

/* Only now the end of the log is known, and with it the stamp: no commit up to
 * that end has a higher one. */
static enum kx_status begin_logs(struct kx_backup *backup)
{
    backup->phase = COPY_LOGS;
    backup->next = backup->first_log;
    enum kx_status status = log_files_end(backup->store->env, &backup->end);
    backup->stamp = atomic_load(&backup->store->stats.stamp);
    return status;
}

static enum kx_status next_extra(struct kx_backup *backup)
{
    if (backup->next < EXTRA_COUNT)
        return open_file(backup, EXTRAS[backup->next++]);
    backup->phase = COPY_TABLES;
    backup->next = 0;
    return KX_ABSENT;
}

static enum kx_status next_table(struct kx_backup *backup)
{
    if (backup->next < TABLE_COUNT)
        return open_file(backup, table_file(backup->next++));
    return begin_logs(backup);
}

static enum kx_status next_log(struct kx_backup *backup)
{
    char name[LOG_NAME];
    if (backup->next > backup->end.file) {
        backup->phase = COPY_END;
        return KX_OK;
    }
    log_files_name(backup->next, name);
    enum kx_status status = open_file(backup, name);
    backup->next++;
    return status == KX_ABSENT ? KX_FAILED : status;
}

static enum kx_status next_file(struct kx_backup *backup)
{
    enum kx_status status = KX_ABSENT;
    if (backup->phase == COPY_EXTRAS)
        status = next_extra(backup);
    else if (backup->phase == COPY_TABLES)
        status = next_table(backup);
    else if (backup->phase == COPY_LOGS)
        status = next_log(backup);
    return status == KX_ABSENT ? KX_OK : status;
}

/* A read during a write may return half of the old page and half of the new
 * one. The next call then reads the slice again. */
static enum kx_status check_pages(struct kx_backup *backup, size_t size)
{
    uint64_t first = backup->done / PAGE_BYTES;
    size_t n = 0;
    while (n * PAGE_BYTES < size &&
           page_check_one(backup->bytes + n * PAGE_BYTES, first + n))
        n++;
    if (n * PAGE_BYTES >= size) {
        backup->wrong_ns = 0;
        return KX_OK;
    }
    uint64_t now_ns = kx_monotonic_ns();
    if (backup->wrong_ns == 0)
        backup->wrong_ns = now_ns;
    if (now_ns - backup->wrong_ns < WRONG_NS)
        return KX_AGAIN;
    kx_log(KX_LOG_ERROR, "backup", "file=%s wrong_page=%" PRIu64, backup->name,
           first + n);
    return KX_DAMAGED;
}

/* Reads zeros after the end of a data file that has become shorter. */
static enum kx_status read_slice(struct kx_backup *backup, size_t size)
{
    ssize_t got = pread(backup->fd, backup->bytes, size, (off_t)backup->done);
    if (got >= 0 && backup->paged) {
        size_t whole = (size_t)got - (size_t)got % PAGE_BYTES;
        memset(backup->bytes + whole, 0, size - whole);
        return KX_OK;
    }
    if (got == (ssize_t)size)
        return KX_OK;
    kx_log(KX_LOG_ERROR, "backup", "file=%s error=\"%s\"", backup->name,
           got < 0 ? strerror(errno) : "the file has become shorter");
    return KX_FAILED;
}

static enum kx_status copy_slice(struct kx_backup *backup)
{
    uint64_t size = backup->size - backup->done;
    if (size > sizeof backup->bytes)
        size = sizeof backup->bytes;
    enum kx_status status = read_slice(backup, size);
    if (status == KX_OK && backup->paged)
        status = check_pages(backup, size);
    if (status != KX_OK)
        return status == KX_AGAIN ? KX_OK : status;
    backup_pack_add(backup->pack, kx_slice(backup->bytes, size));
    backup->done += size;
    return KX_OK;
}

static void close_file(struct kx_backup *backup)
{
    close(backup->fd);
    backup->fd = -1;
}

enum kx_status kx_backup_next(struct kx_backup *backup, struct kx_buffer *out)
{
    enum kx_status status = KX_OK;
    backup_pack_target(backup->pack, out);
    if (backup->phase == COPY_END) {
        backup_pack_finish(backup->pack);
        if (!out->failed && !backup->unnoted)
            backup_time_note(backup->store->options.directory,
                             &backup->store->stats.backup_s);
        return out->failed ? KX_NO_MEMORY : KX_END;
    }
    if (backup->fd < 0)
        status = next_file(backup);
    else if (backup->done < backup->size)
        status = copy_slice(backup);
    else
        close_file(backup);
    return out->failed ? KX_NO_MEMORY : status;
}

static uint64_t size_of(const struct kx_backup *backup, const char *name)
{
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", backup->store->options.directory,
             name);
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

uint64_t kx_backup_size(const struct kx_backup *backup)
{
    char name[LOG_NAME];
    struct log_place end = backup->end;
    uint64_t size = 0;
    for (int i = 0; i < TABLE_COUNT; i++)
        size += size_of(backup, table_file(i));
    if (end.file == 0 && log_files_end(backup->store->env, &end) != KX_OK)
        return size;
    for (uint32_t n = backup->first_log; n < end.file; n++) {
        log_files_name(n, name);
        size += size_of(backup, name);
    }
    return size + end.offset;
}

void backup_leave_unnoted(struct kx_backup *backup)
{
    backup->unnoted = true;
}

uint64_t backup_stamp(const struct kx_backup *backup)
{
    return backup->stamp;
}

uint32_t backup_first_log(const struct kx_backup *backup)
{
    return backup->first_log;
}
