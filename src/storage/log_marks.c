/* Marks are the library's records for messages of the application: text in a
 * record without a transaction. The writer applies one batch after another, so
 * no record of a batch lies between a mark and the next batch's first record.
 */
#include "storage/log_marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bdb/bdb.h"
#include "base/file.h"
#include "bdb/os_hooks.h"
#include "bdb/page_alloc.h"

static const char WORD[] = "kindex-mark ";
/* The library's number for such records, at their beginning. */
static const u_int32_t MESSAGE = 47;

void log_marks_write(struct env *env, const struct log_mark *mark)
{
    env->db->log_printf(env->db, NULL, "%s%" PRIu64 " %" PRId64 ".", WORD,
                        mark->stamp, mark->at_ms);
}

/* Returns whether the record is a mark. The word alone could be in a client's
 * value. */
static bool read_mark(const DBT *record, struct log_mark *mark)
{
    char text[128];
    u_int32_t type = 0;
    if (record->size < sizeof type || record->size > 256)
        return false;
    memcpy(&type, record->data, sizeof type);
    const char *at = memmem(record->data, record->size, WORD, strlen(WORD));
    if (type != MESSAGE || at == NULL)
        return false;
    size_t size = record->size - (size_t)(at - (const char *)record->data);
    if (size >= sizeof text)
        size = sizeof text - 1;
    memcpy(text, at, size);
    text[size] = '\0';
    return sscanf(text + strlen(WORD), "%" SCNu64 " %" SCNd64 ".", &mark->stamp,
                  &mark->at_ms) == 2;
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
