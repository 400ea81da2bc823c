/* The database of an engine, as parameters for libpq. */
#ifndef PG_TARGET_H
#define PG_TARGET_H

#include "kindex/store.h"

enum { PG_WORDS_MAX = 16 };

/* Parameters of PQconnectdbParams, with NULL as the last element. The texts
 * belong to the target's talloc context, or are constant. */
struct pg_target {
    const char *names[PG_WORDS_MAX];
    const char *values[PG_WORDS_MAX];
    size_t count;
    bool local; /* only addresses of this machine */
};

/* Checks the address in options->engine, reads the password file, and fills in
 * *target_out, in talloc context mem. Rejects addresses of other machines
 * without TLS that verifies the server, unless options->engine_insecure.
 * Rejects a password in the address, because every user of the machine can see
 * a process's arguments. KX_OK; KX_BAD_DIRECTORY, with a fault that says what
 * to do; KX_NO_MEMORY. */
enum kx_status pg_target_read(void *mem, const struct kx_options *options,
                              struct pg_target *target_out,
                              struct kx_fault *fault);

#endif
