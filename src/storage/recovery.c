/* Uses the library's own counters. A page that was changed is still dirty, or
 * was written when it left the cache; a checkpoint writes only pages that were
 * changed before it. A page that left the cache twice counts twice, because
 * recovery may read it twice. */
#include "storage/recovery.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <talloc.h>
#include <unistd.h>

#include "bdb/page_check.h"
#include "storage/env_state.h"
#include "storage/log_files.h"

/* Measured (tests/bench/README.md): reading the log alone; and a page that is
 * read, checked, changed and, in half of the cases, written. */
enum {
    LOG_BYTES_PER_US = 200,
    PAGE_US = 16,
    RECORD_BYTES_MIN = 40 /* the shortest record that changes a page */
};

static uint64_t log_end(DB_ENV *db)
{
    DB_LOG_STAT *stat = NULL;
    if (db->log_stat(db, &stat, 0) != 0)
        return 0;
    uint64_t end =
        (uint64_t)stat->st_cur_file * stat->st_lg_size + stat->st_cur_offset;
    free(stat);
    return end;
}

/* Sets both to 0 if they are unknown. */
static void read_pages(DB_ENV *db, uint64_t *evicted_out, uint64_t *dirty_out)
{
    DB_MPOOL_STAT *stat = NULL;
    *evicted_out = 0;
    *dirty_out = 0;
    if (db->memp_stat(db, &stat, NULL, 0) != 0)
        return;
    *evicted_out = stat->st_rw_evict;
    *dirty_out = stat->st_page_dirty;
    free(stat);
}

struct recovery_start recovery_start_here(const struct env *env)
{
    struct recovery_start start = {.log_at = log_end(env->db)};
    uint64_t dirty;
    read_pages(env->db, &start.evicted, &dirty);
    return start;
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t cost_us(uint64_t log_bytes, uint64_t pages)
{
    return log_bytes / LOG_BYTES_PER_US + pages * PAGE_US;
}

uint64_t recovery_cost_most(const struct env *env)
{
    uint64_t bytes = since(log_end(env->db), env_state(env)->recovery.log_at);
    return cost_us(bytes, bytes / RECORD_BYTES_MIN);
}

struct recovery_cost recovery_cost_now(const struct env *env)
{
    const struct recovery_start *start = &env_state(env)->recovery;
    uint64_t evicted, dirty;
    read_pages(env->db, &evicted, &dirty);
    struct recovery_cost cost = {
        .log_bytes = since(log_end(env->db), start->log_at),
        .pages = since(evicted, start->evicted) + dirty};
    cost.us = cost_us(cost.log_bytes, cost.pages);
    return cost;
}

/* ---- Prefetching -------------------------------------------------------- */

/* The log names the files where recovery begins. So the scan first goes
 * backwards to find that place and the names, and then forwards for the pages.
 */

/* Offsets in a file registration (a size, then the name) and in a checkpoint.
 */
enum {
    NAME_AT = LOG_BODY_AT + 4,
    START_AT = LOG_BODY_AT,
    READ_MIN = LOG_BODY_AT + 12 /* bytes of the shortest record read here */
};

enum { FILES = 8, FILE_NAME = 64 };

/* The record types that nearly all changes of rows have. */
static const struct {
    uint32_t type;
    size_t file_at; /* offset of the file number; the page number follows */
} PAGE_RECORDS[] = {
    {41, LOG_BODY_AT + 4}, /* an item added or removed, after the operation */
    {43, LOG_BODY_AT + 4}, /* a page of a long value, the same */
    {57, LOG_BODY_AT},     /* an item marked as deleted */
    {58, LOG_BODY_AT},     /* an item replaced */
};

struct log_walk {
    const char *directory;
    struct log_file log;
    char names[FILES][FILE_NAME]; /* by file number; empty: not known */
    struct log_place start; /* where recovery begins; file 0: not found yet */
    recovery_page_fn *each;
    void *target;
};

/* The record type, or 0 if this file does not read such records. */
static uint32_t type_of(const uint8_t *record, size_t length)
{
    return length < READ_MIN ? 0 : log_number(record + LOG_TYPE_AT);
}

static enum kx_status read_log(struct log_walk *walk, uint32_t number)
{
    struct kx_fault fault;
    log_file_drop(&walk->log);
    return log_file_read(walk->directory, number, &walk->log, &fault);
}

/* A registration has the file's name and identity, each after its size, and
 * then the file number. */
static void note_file(struct log_walk *walk, const uint8_t *record,
                      size_t length)
{
    size_t name_size = log_number(record + NAME_AT);
    size_t at = NAME_AT + 4;
    if (name_size == 0 || name_size > FILE_NAME || name_size > length - at - 4)
        return;
    const char *name = (const char *)record + at;
    at += name_size;
    size_t identity = log_number(record + at);
    at += 4;
    if (identity > length - at || length - at - identity < 4)
        return;
    uint32_t number = log_number(record + at + identity);
    if (number < FILES && memchr(name, '\0', name_size) != NULL)
        memcpy(walk->names[number], name, name_size);
}

/* Finds where recovery begins, and the names of the files, in the last log file
 * that has a checkpoint and in those after it. */
static enum kx_status find_start(struct log_walk *walk, uint32_t first,
                                 uint32_t last)
{
    enum kx_status status = KX_OK;
    for (uint32_t n = last;
         status == KX_OK && walk->start.file == 0 && n >= first && n > 0; n--) {
        size_t length;
        status = read_log(walk, n);
        for (size_t at = 0; (length = log_record_length(&walk->log, at)) != 0;
             at += length) {
            const uint8_t *record = walk->log.bytes + at;
            uint32_t type = type_of(record, length);
            if (type == LOG_REGISTRATION)
                note_file(walk, record, length);
            else if (type == LOG_CHECKPOINT)
                walk->start =
                    (struct log_place){log_number(record + START_AT),
                                       log_number(record + START_AT + 4)};
        }
    }
    return status;
}

/* Returns false when the scan should stop. */
static bool take_record(struct log_walk *walk, const uint8_t *record,
                        size_t length)
{
    uint32_t type = type_of(record, length);
    for (size_t i = 0; i < sizeof PAGE_RECORDS / sizeof *PAGE_RECORDS; i++) {
        if (PAGE_RECORDS[i].type != type)
            continue;
        uint32_t file = log_number(record + PAGE_RECORDS[i].file_at);
        uint32_t page = log_number(record + PAGE_RECORDS[i].file_at + 4);
        return file >= FILES || walk->names[file][0] == '\0' ||
               walk->each(walk->target, walk->names[file], page);
    }
    return true;
}

enum kx_status recovery_pages(const char *directory, recovery_page_fn *each,
                              void *target)
{
    struct log_walk walk = {
        .directory = directory, .each = each, .target = target};
    uint32_t first, last;
    if (!log_files_span(directory, &first, &last))
        return KX_FAILED;
    enum kx_status status = find_start(&walk, first, last);
    bool more = walk.start.file != 0;
    size_t at = walk.start.offset;
    for (uint32_t n = walk.start.file; status == KX_OK && more && n <= last;
         n++, at = 0) {
        size_t length;
        status = read_log(&walk, n);
        for (; more && (length = log_record_length(&walk.log, at)) != 0;
             at += length)
            more = take_record(&walk, walk.log.bytes + at, length);
    }
    log_file_drop(&walk.log);
    return status;
}

/* ---- The thread --------------------------------------------------------- */

enum { ASKED = 1 << 17 };

struct recovery_prefetch {
    const char *directory;
    pthread_t thread;
    atomic_bool stop;
    char file[FILE_NAME]; /* name of the open file */
    int fd;
    uint32_t
        asked[ASKED]; /* page number + 1 of recent requests, at page % ASKED */
};

static bool ask(void *target, const char *file, uint32_t page)
{
    struct recovery_prefetch *prefetch = target;
    if (strcmp(file, prefetch->file) != 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", prefetch->directory, file);
        snprintf(prefetch->file, sizeof prefetch->file, "%s", file);
        if (prefetch->fd >= 0)
            close(prefetch->fd);
        prefetch->fd = open(path, O_RDONLY | O_CLOEXEC);
        memset(prefetch->asked, 0, sizeof prefetch->asked);
    }
    if (prefetch->fd >= 0 && prefetch->asked[page % ASKED] != page + 1)
        (void)posix_fadvise(prefetch->fd, (off_t)page * PAGE_BYTES, PAGE_BYTES,
                            POSIX_FADV_WILLNEED);
    prefetch->asked[page % ASKED] = page + 1;
    return !atomic_load(&prefetch->stop);
}

static void *run(void *argument)
{
    struct recovery_prefetch *prefetch = argument;
    pthread_setname_np(pthread_self(), "prefetch");
    (void)recovery_pages(prefetch->directory, ask, prefetch);
    if (prefetch->fd >= 0)
        close(prefetch->fd);
    return NULL;
}

static int end(struct recovery_prefetch *prefetch)
{
    atomic_store(&prefetch->stop, true);
    pthread_join(prefetch->thread, NULL);
    return 0;
}

struct recovery_prefetch *recovery_prefetch_start(void *mem,
                                                  const char *directory)
{
    struct recovery_prefetch *prefetch =
        talloc_zero(mem, struct recovery_prefetch);
    if (prefetch == NULL)
        return NULL;
    prefetch->directory = directory;
    prefetch->fd = -1;
    if (pthread_create(&prefetch->thread, NULL, run, prefetch) != 0) {
        talloc_free(prefetch);
        return NULL;
    }
    talloc_set_destructor(prefetch, end);
    return prefetch;
}
