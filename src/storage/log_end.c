/* Reads the log files as the library does, record by record, as long as the
 * checksums are right. Every file but the last ends with the record that the
 * first record of the next file names. After the end of the last file, it
 * searches for witnesses (log_witness.h). */
#include "storage/log_end.h"

#include <inttypes.h>
#include <stdio.h>

#include "bdb/page_checksum.h"
#include "base/file.h"
#include "storage/log_file.h"
#include "storage/log_witness.h"

enum {
    NEEDED_AT = LOG_BODY_AT, /* in a checkpoint: file where recovery begins */
    CHECKPOINT_SIZE = 36
};

/* A log file, and what was found in it. */
struct checked_log {
    uint32_t number;
    struct log_file file;
    uint32_t end;      /* offset of the readable end; 0: nothing is readable */
    uint32_t last;     /* offset of the last record */
    uint32_t previous; /* offset of the previous file's last record, or 0 */
    uint32_t needed;   /* first file that its last checkpoint needs, or 0 */
};

/* ---- One file ----------------------------------------------------------- */

/* The length of the record at `at`; 0 if its checksum is wrong. */
static uint32_t length_at(const struct log_file *file, size_t at)
{
    uint32_t length = log_record_length(file, at);
    if (length == 0)
        return 0;
    const uint8_t *record = file->bytes + at;
    uint32_t sum =
        page_checksum_add(0, record + LOG_HEADER, length - LOG_HEADER) ^
        length ^ log_number(record + LOG_PREVIOUS_AT);
    return sum == log_number(record + LOG_SUM_AT) ? length : 0;
}

static void walk(struct checked_log *log)
{
    uint32_t length;
    while ((length = length_at(&log->file, log->end)) != 0) {
        const uint8_t *record = log->file.bytes + log->end;
        log->last = log->end;
        if (length >= CHECKPOINT_SIZE &&
            log_number(record + LOG_TYPE_AT) == LOG_CHECKPOINT)
            log->needed = log_number(record + NEEDED_AT);
        log->end += length;
    }
    if (log->end != 0)
        log->previous = log_number(log->file.bytes + LOG_PREVIOUS_AT);
}

/* KX_DAMAGED also if the file is missing. */
static enum kx_status read_file(const char *directory, uint32_t number,
                                struct checked_log *log, struct kx_fault *fault)
{
    *log = (struct checked_log){.number = number};
    enum kx_status status = log_file_read(directory, number, &log->file, fault);
    if (status == KX_OK)
        walk(log);
    return status;
}

/* ---- All files ---------------------------------------------------------- */

static bool is_later(struct log_place a, struct log_place b)
{
    return a.file > b.file || (a.file == b.file && a.offset > b.offset);
}

static struct log_place latest_witness_after(const struct checked_log *log,
                                             uint64_t key)
{
    if (log->file.bytes == NULL)
        return (struct log_place){0, 0};
    return log_witness_find(
        key, kx_slice(log->file.bytes + log->end, log->file.size - log->end));
}

static enum kx_status broken(struct log_place end, struct log_place known,
                             struct kx_fault *fault)
{
    char name[LOG_NAME], later[LOG_NAME];
    log_files_name(end.file, name);
    log_files_name(known.file, later);
    return kx_fail(fault, KX_DAMAGED,
                   "%s cannot be read from byte %" PRIu32
                   " on, but the log was on disk up to byte %" PRIu32 " of %s",
                   name, end.offset, known.offset, later);
}

/* The files to check, and the results. */
struct log_search {
    const struct log_end *logend;
    uint32_t first; /* number of the first file */
    uint32_t last;
    uint64_t key;
    struct log_place known; /* the log was on disk up to here */
    struct checked_log log; /* the file checked last: all after it are right */
};

/* Checks that this file still has everything written before the next file.
 * After a full disk, the next file may not name the last record of this one. */
static enum kx_status compare(const struct log_search *search,
                              const struct checked_log *log,
                              struct kx_fault *fault)
{
    const struct checked_log *next = &search->log;
    struct log_place end = {log->number, log->end};
    struct log_place known = {next->number, next->end};
    if (next->previous == 0)
        known = latest_witness_after(log, search->key);
    else if (next->previous == log->last)
        return KX_OK;
    return is_later(known, end) ? broken(end, known, fault) : KX_OK;
}

/* Checks the files before the last one, backwards, as far as recovery needs
 * them. */
static enum kx_status look_back(struct log_search *search,
                                struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    bool whole = search->logend->whole;
    uint32_t needed = whole ? 0 : search->log.needed;
    while (status == KX_OK && search->log.number > search->first &&
           search->log.number != needed) {
        struct checked_log log;
        status = read_file(search->logend->directory, search->log.number - 1,
                           &log, fault);
        if (status == KX_OK)
            status = compare(search, &log, fault);
        if (!whole && needed == 0)
            needed = log.needed;
        log_file_drop(&search->log.file);
        search->log = log;
    }
    return status;
}

/* Finds the last file that has a record. The library may have created the next
 * file without writing to it, or what it wrote is damaged. */
static enum kx_status find_last(struct log_search *search,
                                struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    uint32_t number = search->last;
    do {
        log_file_drop(&search->log.file);
        status =
            read_file(search->logend->directory, number, &search->log, fault);
        if (status != KX_OK)
            return status;
        struct log_place known =
            latest_witness_after(&search->log, search->key);
        if (is_later(known, search->known))
            search->known = known;
    } while (search->log.end == 0 && number-- > search->first);
    return status;
}

enum kx_status log_end_find(struct log_end *logend, struct kx_fault *fault)
{
    struct log_search search = {.logend = logend,
                                .key = log_witness_key(logend->directory)};
    logend->end = (struct log_place){0, 0};
    if (!log_files_span(logend->directory, &search.first, &search.last))
        return file_failed(logend->directory, fault);
    if (search.first == 0)
        return KX_OK;
    enum kx_status status = find_last(&search, fault);
    logend->end = (struct log_place){search.log.number, search.log.end};
    if (status == KX_OK && is_later(search.known, logend->end))
        status = broken(logend->end, search.known, fault);
    if (status == KX_OK)
        status = look_back(&search, fault);
    log_file_drop(&search.log.file);
    return status;
}
