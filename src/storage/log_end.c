/* Reads the log files as the library does, record by record, as long as the
 * checksums are right. Every file but the last ends with the record that the
 * first record of the next file names. After the end of the last file, it
 * searches for witnesses. */
#include "storage/log_end.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "bdb/page_checksum.h"
#include "storage/env_state.h"
#include "storage/log_files.h"

/* ---- Witnesses ---------------------------------------------------------- */

/* A witness is the library's record for messages of the application. Building
 * it here, without the library's formatting, costs a fifth. It ends with a
 * checksum that is keyed by the store's key. */

enum {
    MESSAGE = 47,  /* the library's type for such records */
    HEADER = 12,   /* bytes of the library's header before each record */
    NAME_AT = 52,  /* offset of a table's unique name in its first page */
    NAME_SIZE = 20 /* bytes of that name */
};

static const uint64_t WORD = UINT64_C(0x9ed1c5b7e4f3a6fd);

struct statement {
    uint64_t word;
    uint32_t file;
    uint32_t offset;
    uint64_t sum;
};

/* The library's record; members not used here are empty. */
struct message {
    uint32_t type;
    uint32_t txn;
    uint32_t before[2];
    uint32_t size;
    uint8_t statement[sizeof(struct statement)];
    int32_t table;
    uint32_t key_size;
    uint32_t data_size;
    uint32_t flags;
};

static uint64_t sum_of(uint64_t key, uint64_t place)
{
    return hash_word(hash_word(key, place), WORD);
}

static uint64_t pack(uint32_t file, uint32_t offset)
{
    return (uint64_t)file << 32 | offset;
}

/* Returns the key of a store's witnesses, or 0 if the directory has no tables.
 * Without the key, a client cannot forge a witness in a value: the key is
 * computed from the tables' unique name, which no client sees. Reads files of
 * the directory. */
static uint64_t log_witness_key(const char *directory)
{
    char path[4096];
    uint8_t name[NAME_SIZE];
    snprintf(path, sizeof path, "%s/%s", directory, table_file(TABLE_ENTRIES));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = pread(fd, name, sizeof name, NAME_AT);
    close(fd);
    return got == sizeof name ? hash_bytes(kx_slice(name, sizeof name)) : 0;
}

/* ---- Writing ------------------------------------------------------------ */

/* Appends a witness. Returns the place after it, or 0. */
static uint64_t put(struct env *env)
{
    struct log_witness *witness = &env_state(env)->witness;
    uint64_t place = atomic_load(&witness->flushed);
    struct statement statement = {WORD, (uint32_t)(place >> 32),
                                  (uint32_t)place, sum_of(witness->key, place)};
    struct message message = {
        .type = MESSAGE, .size = sizeof statement, .table = -1};
    memcpy(message.statement, &statement, sizeof statement);
    DBT record = {.data = &message, .size = sizeof message};
    DB_LSN at;
    if (env->db->log_put(env->db, &at, &record, 0) != 0)
        return 0;
    uint64_t end = pack(at.file, at.offset + HEADER + record.size);
    atomic_store(&witness->stated, place);
    atomic_store(&witness->put, end);
    return end;
}

void log_witness_batch(struct env *env)
{
    uint64_t end = put(env);
    if (end != 0)
        atomic_store(&env_state(env)->witness.applied, end);
}

void log_witness_last(struct env *env)
{
    struct log_witness *witness = &env_state(env)->witness;
    uint64_t applied = atomic_load(&witness->applied);
    if (atomic_load(&witness->stated) < applied &&
        atomic_load(&witness->flushed) >= applied)
        put(env);
}

bool log_witness_idle(struct env *env)
{
    struct log_witness *witness = &env_state(env)->witness;
    uint64_t applied = atomic_load(&witness->applied);
    bool idle = applied == witness->seen;
    witness->seen = applied;
    if (!idle)
        return false;
    log_witness_last(env);
    /* A checkpoint that was not due wrote the last witness but did not flush.
     */
    return atomic_load(&witness->flushed) < atomic_load(&witness->put);
}

uint64_t log_witness_put(const struct env *env)
{
    return atomic_load(&env_state(env)->witness.put);
}

void log_witness_flushed(struct env *env, uint64_t place)
{
    struct log_witness *witness = &env_state(env)->witness;
    if (place > atomic_load(&witness->flushed))
        atomic_store(&witness->flushed, place);
}

enum kx_status log_witness_start(struct env *env)
{
    const char *home = NULL;
    struct log_place end;
    enum kx_status status = log_files_end(env, &end);
    if (status == KX_OK)
        status = bdb_status(env, env->db->get_home(env->db, &home), "home");
    if (status != KX_OK)
        return status;
    env_state(env)->witness.key = log_witness_key(home);
    log_witness_flushed(env, pack(end.file, end.offset));
    return KX_OK;
}

/* ---- Reading ------------------------------------------------------------ */

/* Returns the latest place that any witness among these bytes names; {0, 0} if
 * the bytes contain no witness. */
static struct log_place log_witness_find(uint64_t key, struct kx_slice bytes)
{
    struct statement statement;
    uint64_t latest = 0;
    const uint8_t *first = (const uint8_t *)&WORD;
    const uint8_t *end = bytes.data + bytes.size;
    const uint8_t *at = bytes.data;
    while (at != NULL && (size_t)(end - at) >= sizeof statement) {
        at = memchr(at, *first, (size_t)(end - at));
        if (at == NULL || (size_t)(end - at) < sizeof statement)
            break;
        memcpy(&statement, at++, sizeof statement);
        uint64_t place = pack(statement.file, statement.offset);
        if (statement.word == WORD && statement.sum == sum_of(key, place) &&
            place > latest)
            latest = place;
    }
    return (struct log_place){(uint32_t)(latest >> 32), (uint32_t)latest};
}

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

uint32_t log_record_checked(const struct log_file *file, size_t at)
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
    while ((length = log_record_checked(&log->file, log->end)) != 0) {
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
