/* A witness is the library's record for messages of the application. Building
 * it here, without the library's formatting, costs a fifth. It ends with a
 * checksum that is keyed by the store's key. */
#include "storage/log_witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/env_state.h"
#include "base/hash.h"

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

uint64_t log_witness_key(const char *directory)
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

struct log_place log_witness_find(uint64_t key, struct kx_slice bytes)
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
