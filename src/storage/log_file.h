/* A log file in memory, of a directory that need not be open, and its records
 * as the library writes them (its log format 19). */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include "kindex.h"

/* The bytes are not on the heap, which would keep the memory. */
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

#endif
