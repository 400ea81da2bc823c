/* Rows are gathered until the commit record of their transaction: a batch is
 * handed on as a whole or not at all. */
#include "storage/row_log.h"

#include <talloc.h>

#include "storage/log_end.h"

enum {
    COMMIT = 10,  /* record type: end of a transaction */
    RECYCLE = 14, /* record type: transaction numbers are used again */
    TXN_AT = LOG_TYPE_AT + 4, /* in any record: its transaction */
    OPCODE_AT = LOG_BODY_AT,  /* in an end of a transaction */
    TIME_AT = LOG_BODY_AT + 4,
    COMMITTED = 1 /* as opcode */
};

/* Reads the row at `at`. Returns false if the bytes end before its end. */
static bool read_row(struct kx_slice bytes, size_t *at,
                     struct row_write *write_out)
{
    struct row_log_row head;
    if (bytes.size - *at < sizeof head)
        return false;
    memcpy(&head, bytes.data + *at, sizeof head);
    *at += sizeof head;
    if (bytes.size - *at < (uint64_t)head.key_size + head.value_size ||
        head.table >= TABLE_COUNT || head.type > ROW_DELETE)
        return false;
    write_out->type = (enum row_write_type)head.type;
    write_out->table = (enum table)head.table;
    write_out->key = kx_slice(bytes.data + *at, head.key_size);
    *at += head.key_size;
    write_out->value = kx_slice(bytes.data + *at, head.value_size);
    *at += head.value_size;
    return true;
}

static enum kx_status lacks_rows(struct kx_fault *fault)
{
    return kx_fail(fault, KX_DAMAGED,
                   "the log lacks the rows of some commits: they were made "
                   "without --followed");
}

/* Reads all rows of the open batch into an array in talloc context `mem`. */
static enum kx_status read_rows(void *mem, struct kx_slice bytes,
                                struct row_write **rows_out, size_t *count_out,
                                struct kx_fault *fault)
{
    struct row_write write;
    size_t count = 0;
    for (size_t at = 0; at < bytes.size; count++)
        if (!read_row(bytes, &at, &write))
            return kx_fail(fault, KX_DAMAGED, "rows in the log are cut off");
    struct row_write *rows =
        talloc_array(mem, struct row_write, (unsigned)(count + 1));
    if (rows == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        (void)read_row(bytes, &at, &rows[i]);
    *rows_out = rows;
    *count_out = count;
    return KX_OK;
}

/* The open batch is committed. */
static enum kx_status deliver(struct row_log_reader *reader,
                              struct log_place end, int64_t at_s,
                              struct kx_fault *fault)
{
    struct row_log_batch batch = {.end = end, .at_s = at_s};
    struct row_write *rows = NULL;
    void *mem = talloc_new(NULL);
    if (mem == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = reader->rows.failed
                                ? kx_fail(fault, KX_NO_MEMORY, "no memory")
                                : read_rows(mem, kx_buffer_slice(&reader->rows),
                                            &rows, &batch.count, fault);
    batch.writes = rows;
    if (status == KX_OK)
        status = reader->each(reader->target, &batch);
    talloc_free(mem);
    return status;
}

static enum kx_status read_rows_record(struct row_log_reader *reader,
                                       const struct row_log_begin *head,
                                       struct kx_slice bytes,
                                       struct kx_fault *fault)
{
    if ((head->flags & ROW_LOG_NONE) != 0)
        return reader->each == NULL ? KX_OK : lacks_rows(fault);
    if ((head->flags & ROW_LOG_FIRST) != 0) {
        reader->txn = head->txn;
        reader->safe = reader->at;
        reader->rows.size = 0;
    }
    if (reader->txn == head->txn && reader->each != NULL)
        kx_add_slice(&reader->rows, bytes);
    return KX_OK;
}

static enum kx_status read_commit(struct row_log_reader *reader,
                                  const uint8_t *record, uint32_t length,
                                  struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    uint32_t txn = log_number(record + TXN_AT);
    struct log_place end = {reader->at.file, reader->at.offset + length};
    if (length < TIME_AT + sizeof(uint32_t))
        return KX_OK;
    reader->saw_commit = true;
    if (reader->txn != txn)
        return KX_OK;
    if (log_number(record + OPCODE_AT) == COMMITTED) {
        reader->saw_batch = true;
        if (reader->each != NULL)
            status = deliver(reader, end, (int32_t)log_number(record + TIME_AT),
                             fault);
    }
    if (status == KX_OK) {
        reader->txn = 0;
        reader->rows.size = 0;
    }
    return status;
}

/* A mark follows each batch. The reader may have begun between a batch and its
 * mark. */
static enum kx_status read_mark(struct row_log_reader *reader,
                                struct kx_fault *fault)
{
    bool whole = reader->saw_batch || !reader->saw_commit;
    reader->saw_batch = false;
    return whole || reader->each == NULL ? KX_OK : lacks_rows(fault);
}

static enum kx_status read_record(struct row_log_reader *reader,
                                  const uint8_t *record, uint32_t length,
                                  struct kx_fault *fault)
{
    struct row_log_begin head;
    struct kx_slice bytes;
    struct kx_slice body = kx_slice(record + LOG_HEADER, length - LOG_HEADER);
    if (length < LOG_BODY_AT)
        return KX_OK;
    switch (log_number(record + LOG_TYPE_AT)) {
    case ROW_LOG_MESSAGE:
        if (row_log_read_begin(body, &head, &bytes))
            return read_rows_record(reader, &head, bytes, fault);
        return log_marks_is_record(body) ? read_mark(reader, fault) : KX_OK;
    case COMMIT:
        return read_commit(reader, record, length, fault);
    case RECYCLE:
        reader->txn = 0;
        break;
    }
    return KX_OK;
}

enum kx_status row_log_read(struct row_log_reader *reader,
                            const struct log_file *file, struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    uint32_t length;
    while (status == KX_OK &&
           (length = log_record_checked(file, reader->at.offset)) != 0) {
        status =
            read_record(reader, file->bytes + reader->at.offset, length, fault);
        if (status != KX_OK)
            break;
        reader->at.offset += length;
        if (reader->txn == 0)
            reader->safe = reader->at;
    }
    return status;
}
