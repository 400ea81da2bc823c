/* Copying a store between a data directory and a database. */
#ifndef KINDEX_COPY_H
#define KINDEX_COPY_H

#include "kindex/store.h"

/* The parameters and the result of a copy. */
struct kx_copy {
    /* One is the address of a database, postgresql://...; the other is a
     * directory. */
    const char *from;
    const char *to;
    const char *engine_password_file; /* as in struct kx_options */
    bool engine_insecure;
    uint64_t cache_bytes;
    /* NULL, or called from time to time with the number of rows copied so far.
     */
    void (*progress)(void *context, uint64_t rows);
    void *context;
    uint64_t rows; /* result: entries, index entries and all others */
};

/* Returns whether this is the address of a database. */
bool kx_is_database(const char *place);

/* Copies all rows as they are: entries with their versionstamps and times,
 * index entries, declarations, tokens, the store's id. No server may use either
 * place: the directory is locked, and the lease of the database is taken. Until
 * the end the copy cannot be opened. KX_OK: the copy is on disk.
 * KX_BAD_DIRECTORY: the target has a store or other files and is unchanged, or
 * the source has no store. KX_IN_USE, KX_DAMAGED, KX_UNREACHABLE, KX_DISK_FULL,
 * KX_NO_MEMORY, KX_FAILED. If a copy fails midway, the target must be removed.
 */
enum kx_status kx_copy_store(struct kx_copy *copy, struct kx_fault *fault);

#endif
