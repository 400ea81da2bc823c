/* The rows of each batch as records of the log, beside the library's own
 * records, which describe pages. bdb_engine writes them. A server that follows
 * an archive reads them from the archive's copy of the log and applies them to
 * its own tables (backup/archive_follow.h).
 *
 * The rows of a transaction precede its commit record and name the transaction:
 * the log has the rows of every committed batch, and a batch counts only if its
 * commit record follows. The rows are one stream of bytes, cut into records of
 * at most ROW_LOG_CHUNK bytes, because a record must fit into a log file.
 * Recovery skips them. */
#ifndef ROW_LOG_H
#define ROW_LOG_H

#include "engine/engine.h"
#include "storage/log_files.h"

enum {
    ROW_LOG_MESSAGE = 47, /* the library's type for records of applications */
    ROW_LOG_CHUNK = 256 << 10
};

#define ROW_LOG_WORD UINT64_C(0xb3e8f1a6c2d97045)

enum row_log_flags {
    ROW_LOG_FIRST = 1, /* first record of its transaction */
    ROW_LOG_NONE = 2   /* from here on, batches are written without rows */
};

/* The library's record up to the bytes of rows, and after them. */
struct row_log_begin {
    uint32_t type;
    uint32_t none[3];
    uint32_t size; /* of what follows, before row_log_end */
    uint8_t word[8];
    uint32_t txn;
    uint32_t flags;
};
struct row_log_end {
    int32_t table;
    uint32_t none[3];
};

enum {
    ROW_LOG_AT = sizeof(struct row_log_begin),
    ROW_LOG_SIZE_AT = 20 /* where the bytes begin that `size` counts */
};

/* Before the key and the value of each row. */
struct row_log_row {
    uint8_t type; /* ROW_PUT or ROW_DELETE */
    uint8_t table;
    uint8_t none[2];
    uint32_t key_size;
    uint32_t value_size;
};

/* Reads the beginning of a record as the library got it, and its bytes of rows.
 * Returns false if it has none. */
static inline bool row_log_read_begin(struct kx_slice record,
                                      struct row_log_begin *begin_out,
                                      struct kx_slice *bytes_out)
{
    const uint64_t word = ROW_LOG_WORD;
    if (record.size < ROW_LOG_AT)
        return false;
    memcpy(begin_out, record.data, sizeof *begin_out);
    if (begin_out->type != ROW_LOG_MESSAGE ||
        memcmp(begin_out->word, &word, sizeof word) != 0 ||
        begin_out->size < ROW_LOG_AT - ROW_LOG_SIZE_AT ||
        begin_out->size > record.size - ROW_LOG_SIZE_AT)
        return false;
    *bytes_out = kx_slice(record.data + ROW_LOG_AT,
                          begin_out->size - (ROW_LOG_AT - ROW_LOG_SIZE_AT));
    return true;
}

/* ---- Reading ------------------------------------------------------------ */

/* A batch that was committed. The rows are valid during the call. */
struct row_log_batch {
    const struct row_write *writes;
    size_t count;
    struct log_place end; /* after its commit record */
    int64_t at_s;         /* Unix time of the commit */
};

/* Returns KX_OK, or a status that ends the reading. */
typedef enum kx_status row_log_fn(void *target,
                                  const struct row_log_batch *batch);

/* Reads a log from a place at which no batch is open. Set `at` and `safe` to
 * that place, `each` and `target`; zero the rest, and initialize `rows` with
 * kx_buffer_init. `each` may be NULL: the reader then only finds places, and
 * accepts a log that lacks rows. */
struct row_log_reader {
    struct log_place at;   /* the next record */
    struct log_place safe; /* where a later reader can begin without missing a
                            * batch */
    row_log_fn *each;
    void *target;
    struct kx_buffer rows; /* of the open batch */
    uint32_t txn;          /* of the open batch; 0: no batch is open */
    bool saw_commit;       /* of any transaction, since the reader began */
    bool saw_batch;        /* since the last mark (log_files.h) */
};

/* Reads the file reader->at.file from reader->at.offset to the end of its
 * readable part, and advances `at`. KX_OK; KX_DAMAGED: the log lacks rows;
 * KX_NO_MEMORY; a status of `each`. After an error, begin again at `safe`. */
enum kx_status row_log_read(struct row_log_reader *reader,
                            const struct log_file *file,
                            struct kx_fault *fault);

#endif
