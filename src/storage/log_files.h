/* The log files of the environment. A file is removed when recovery does not
 * need it, no backup is in progress, and, if there is an archive, the file is
 * in the archive. */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include "kindex.h"
#include "storage/env.h"

enum { LOG_NAME = 32 };
/* Writes the name of the n-th file to out, which holds LOG_NAME bytes. */
void log_files_name(uint32_t number, char *out);

/* A place in the log. */
struct log_place {
    uint32_t file;
    uint32_t offset;
};

/* Sets the lowest and highest number of the log files in a directory; 0 if it
 * has none. Returns false with errno if the directory cannot be read: there may
 * be more files. */
bool log_files_span(const char *directory, uint32_t *first_out,
                    uint32_t *last_out);

/* Sets *end_out to the place up to which the log is on disk. KX_OK, KX_FAILED.
 * Any thread. */
enum kx_status log_files_end(struct env *env, struct log_place *end_out);

/* No log file is removed between hold and release. Calls may nest. Any thread.
 */
void log_files_hold(struct env *env);
void log_files_release(struct env *env);

/* Keeps the files from this number on, because they are not in the archive yet.
 * UINT32_MAX, the initial value, keeps no file. Any thread. */
void log_files_keep_from(struct env *env, uint32_t number);

/* Removes the files that are no longer needed. A file that cannot be removed is
 * tried again next time. Any thread. */
void log_files_trim(struct env *env);

/* A log file in memory, of a directory that need not be open. Its records are
 * as the library writes them (its log format 19). The bytes are not on the
 * heap, which would keep the memory. */
struct log_file {
    uint8_t *bytes; /* NULL: not read, or empty */
    size_t size;
};

/* Offsets in a record. After the header come its type, its transaction, the
 * transaction's previous record, and what records of the type have. */
enum {
    LOG_PREVIOUS_AT = 0, /* the place of the previous record */
    LOG_LENGTH_AT = 4,   /* length of the whole record */
    LOG_SUM_AT = 8,
    LOG_HEADER = 12,
    LOG_TYPE_AT = LOG_HEADER,
    LOG_BODY_AT = 28,
};

/* Record types. A registration gives a file the number by which records refer
 * to it; registrations of all open files precede a checkpoint. A checkpoint
 * begins with the place where recovery begins. */
enum { LOG_REGISTRATION = 2, LOG_CHECKPOINT = 11 };

/* Reads the log file with this number. KX_OK; KX_DAMAGED: the file is missing
 * or the disk cannot read it; KX_NO_MEMORY; KX_FAILED. log_file_drop frees the
 * bytes; it is needed only after KX_OK. */
enum kx_status log_file_read(const char *directory, uint32_t number,
                             struct log_file *file, struct kx_fault *fault);
void log_file_drop(struct log_file *file);

static inline uint32_t log_number(const uint8_t *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* Returns the length that the record at `at` states; 0 at the log's end, or if
 * that cannot be a record. */
static inline uint32_t log_record_length(const struct log_file *file, size_t at)
{
    if (at > file->size || file->size - at < LOG_HEADER)
        return 0;
    uint32_t length = log_number(file->bytes + at + LOG_LENGTH_AT);
    return length <= LOG_HEADER || length > file->size - at ? 0 : length;
}

/* Marks in the log, one after each batch: the batch's last versionstamp and the
 * time when it was applied. The log can be cut at a mark, so that the store is
 * in the state of a versionstamp or a time. Recovery skips marks. */
struct log_mark {
    uint64_t stamp;       /* last versionstamp of the batch */
    int64_t at_ms;        /* Unix time */
    struct log_place end; /* of the mark's record: where the log can be cut */
};

/* A mark is a message that begins with this word; bdb_engine writes it, if the
 * log has room for it. */
#define LOG_MARK_WORD "kindex-mark "

/* Returns whether the body of a record, as the library got it, is a mark. */
bool log_marks_is_record(struct kx_slice record);

/* Called for each mark in order; returns false to stop. */
typedef bool log_mark_fn(void *target, const struct log_mark *mark);

/* Reads the marks in a directory that is not open, and calls `each` for them.
 * KX_OK: to the log's end, or until `each` returned false; KX_DAMAGED;
 * KX_NO_MEMORY. */
enum kx_status log_marks_read(const char *directory, log_mark_fn *each,
                              void *target, struct kx_fault *fault);

#endif
