/* Names and lifetimes of log files. The library could remove log files itself,
 * but knows nothing of backups and archives. */
#include "storage/log_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bdb/bdb.h"
#include "bdb/os_hooks.h"
#include "bdb/page_alloc.h"
#include "storage/env_state.h"
#include "storage/row_log.h"

void log_files_name(uint32_t number, char *out)
{
    snprintf(out, LOG_NAME, "log.%010u", number);
}

/* Returns the number of the log file with this name; 0 if it is another file.
 */
static uint32_t number_of(const char *name)
{
    char same[LOG_NAME];
    uint32_t number = 0;
    if (sscanf(name, "log.%10u", &number) != 1)
        return 0;
    log_files_name(number, same);
    return strcmp(name, same) == 0 ? number : 0;
}

struct number_span {
    uint32_t first;
    uint32_t last;
};

static bool widen(void *target, const char *name)
{
    struct number_span *span = target;
    uint32_t number = number_of(name);
    if (number != 0 && (number < span->first || span->first == 0))
        span->first = number;
    if (number > span->last)
        span->last = number;
    return true;
}

bool log_files_span(const char *directory, uint32_t *first_out,
                    uint32_t *last_out)
{
    struct number_span span = {0};
    bool whole = file_each(directory, widen, &span);
    *first_out = span.first;
    *last_out = span.last;
    return whole;
}

enum kx_status log_files_end(struct env *env, struct log_place *end_out)
{
    DB_LOG_STAT *stat = NULL;
    int error = env->db->log_stat(env->db, &stat, 0);
    if (error != 0)
        return bdb_status(env, error, "log_stat");
    *end_out = (struct log_place){.file = stat->st_disk_file,
                                  .offset = stat->st_disk_offset};
    free(stat);
    return KX_OK;
}

void log_files_hold(struct env *env)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_held++;
    pthread_mutex_unlock(&state->logs_lock);
}

void log_files_release(struct env *env)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_held--;
    pthread_mutex_unlock(&state->logs_lock);
}

void log_files_keep_from(struct env *env, uint32_t number)
{
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    state->logs_kept_from = number;
    pthread_mutex_unlock(&state->logs_lock);
}

/* A file that cannot be removed is tried again next time. */
static void remove_listed(const struct env_state *state, const char *home,
                          char *const *names)
{
    char path[4096];
    for (; *names != NULL; names++) {
        snprintf(path, sizeof path, "%s/%s", home, *names);
        if (number_of(*names) != 0 && number_of(*names) < state->logs_kept_from)
            unlink(path);
    }
}

void log_files_trim(struct env *env)
{
    const char *home = NULL;
    char **list = NULL;
    struct env_state *state = env_state(env);
    pthread_mutex_lock(&state->logs_lock);
    if (state->logs_held == 0 && env->db->get_home(env->db, &home) == 0 &&
        env->db->log_archive(env->db, &list, 0) == 0 && list != NULL)
        remove_listed(state, home, list);
    pthread_mutex_unlock(&state->logs_lock);
    free(list);
}

/* ---- Records ------------------------------------------------------------ */

/* Reads a whole file into mapped memory: the heap would keep the memory after
 * the file is dropped. */

/* Returns false with errno; EIO also if the file has become shorter. */
static bool read_bytes(int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && got > 0) {
        got = pread(fd, bytes + done, size - done, (off_t)done);
        done += got > 0 ? (size_t)got : 0;
    }
    if (got == 0)
        errno = EIO;
    return done == size;
}

static enum kx_status map(struct log_file *file, int fd, const char *path,
                          struct kx_fault *fault)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return file_failed(path, fault);
    file->size = (size_t)about.st_size;
    if (file->size == 0)
        return KX_OK;
    file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file->bytes == MAP_FAILED) {
        file->bytes = NULL;
        file->size = 0;
        return kx_fail(fault, KX_NO_MEMORY, "no memory to read %s", path);
    }
    return read_bytes(fd, file->bytes, file->size) ? KX_OK
                                                   : file_unread(path, fault);
}

enum kx_status log_file_read(const char *directory, uint32_t number,
                             struct log_file *file, struct kx_fault *fault)
{
    char name[LOG_NAME], path[4096];
    log_files_name(number, name);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    *file = (struct log_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return kx_fail(fault, KX_DAMAGED, "%s is missing", name);
    if (fd < 0)
        return file_unread(path, fault);
    enum kx_status status = map(file, fd, path, fault);
    close(fd);
    if (status != KX_OK)
        log_file_drop(file);
    return status;
}

void log_file_drop(struct log_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
    *file = (struct log_file){0};
}

/* ---- Marks -------------------------------------------------------------- */

/* Marks are the library's records for messages of the application: text in a
 * record without a transaction. The writer applies one batch after another, so
 * no record of a batch lies between a mark and the next batch's first record.
 */

/* The library's number for such records, at their beginning. */
static const u_int32_t MESSAGE = 47;

/* Returns whether the record is a mark. The word alone could be in a client's
 * value, also in one among the rows of a batch (row_log.h). */
static bool read_mark(const DBT *record, struct log_mark *mark)
{
    char text[128];
    struct row_log_begin rows;
    struct kx_slice bytes;
    u_int32_t type = 0;
    if (record->size < sizeof type || record->size > 256)
        return false;
    memcpy(&type, record->data, sizeof type);
    if (row_log_read_begin(kx_slice(record->data, record->size), &rows, &bytes))
        return false;
    const char *at = memmem(record->data, record->size, LOG_MARK_WORD,
                            strlen(LOG_MARK_WORD));
    if (type != MESSAGE || at == NULL)
        return false;
    size_t size = record->size - (size_t)(at - (const char *)record->data);
    if (size >= sizeof text)
        size = sizeof text - 1;
    memcpy(text, at, size);
    text[size] = '\0';
    return sscanf(text + strlen(LOG_MARK_WORD), "%" SCNu64 " %" SCNd64 ".",
                  &mark->stamp, &mark->at_ms) == 2;
}

bool log_marks_is_record(struct kx_slice record)
{
    struct log_mark mark;
    DBT body = bdb_in(record);
    return read_mark(&body, &mark);
}

/* A mark ends where the next record begins, perhaps in another file. */
static bool pass_on(const struct log_mark *mark, const DB_LSN *next,
                    log_mark_fn *each, void *target)
{
    struct log_mark whole = *mark;
    if (next->file == mark->end.file)
        whole.end.offset = next->offset;
    return each(target, &whole);
}

static int read_all(DB_LOGC *cursor, log_mark_fn *each, void *target)
{
    DBT record = {.flags = DB_DBT_REALLOC};
    DB_LSN place = {0, 0};
    struct log_mark mark = {.stamp = 0};
    bool open = false;
    bool more = true;
    int error = cursor->get(cursor, &place, &record, DB_FIRST);
    while (error == 0 && more) {
        if (open)
            more = pass_on(&mark, &place, each, target);
        open = read_mark(&record, &mark);
        mark.end = (struct log_place){place.file, UINT32_MAX};
        if (more)
            error = cursor->get(cursor, &place, &record, DB_NEXT);
    }
    if (error == DB_NOTFOUND && open)
        each(target, &mark);
    free(record.data);
    return error == DB_NOTFOUND ? 0 : error;
}

static int read_log(DB_ENV *db, log_mark_fn *each, void *target)
{
    DB_LOGC *cursor = NULL;
    int error = db->log_cursor(db, &cursor, 0);
    if (error != 0)
        return error;
    error = read_all(cursor, each, target);
    cursor->close(cursor, 0);
    return error;
}

enum kx_status log_marks_read(const char *directory, log_mark_fn *each,
                              void *target, struct kx_fault *fault)
{
    DB_ENV *db = NULL;
    os_hooks_install();
    int error = db_env_create(&db, 0);
    if (error == 0)
        error = page_alloc_except_results(db);
    if (error == 0)
        error =
            db->open(db, directory, DB_CREATE | DB_PRIVATE | DB_INIT_LOG, 0600);
    if (error == 0)
        error = read_log(db, each, target);
    if (db != NULL)
        db->close(db, 0);
    if (error == 0)
        return KX_OK;
    errno = os_hooks_list_error();
    if (errno != 0)
        return file_failed(directory, fault);
    if (os_hooks_failed(fault))
        return KX_FAILED;
    return kx_fail(fault, error == ENOMEM ? KX_NO_MEMORY : KX_DAMAGED,
                   "the log in %s cannot be read: %s", directory,
                   db_strerror(error));
}
