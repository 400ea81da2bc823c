/* A log file of a directory that may not be open, in memory, and the records in
 * it, as the library writes them (its log format 19).
 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include "kindex.h"

/* Outside of the heap, which would keep the memory. */
struct log_file {
    uint8_t *bytes; /* NULL: not read, or empty */
    size_t size;
};

/* Places in a record. Its type, its transaction and the transaction's record
 * before follow the header, then what records of the type have. */
enum {
    LOG_PREVIOUS_AT = 0, /* the place of the record before it */
    LOG_LENGTH_AT = 4,   /* of all of it */
    LOG_SUM_AT = 8,
    LOG_HEADER = 12,
    LOG_TYPE_AT = LOG_HEADER,
    LOG_BODY_AT = 28,
};

/* Types. A file has a number in records, which a registration gives it; those
 * of all open files precede a checkpoint, which begins with the place where
 * recovery begins. */
enum { LOG_REGISTRATION = 2, LOG_CHECKPOINT = 11 };

/* KX_DAMAGED when it is missing or the disk cannot read it; KX_NO_MEMORY,
 * KX_FAILED. Unless KX_OK there is nothing to drop. */
enum kx_status log_file_read(const char *directory, uint32_t number,
                             struct log_file *file, struct kx_fault *fault);
void log_file_drop(struct log_file *file);

static inline uint32_t log_number(const uint8_t *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* The length that the record there says it has; 0: the log's end, or nothing
 * that could be a record. */
static inline uint32_t log_record_length(const struct log_file *file, size_t at)
{
    if (at > file->size || file->size - at < LOG_HEADER)
        return 0;
    uint32_t length = log_number(file->bytes + at + LOG_LENGTH_AT);
    return length <= LOG_HEADER || length > file->size - at ? 0 : length;
}

#endif
