/* The database that an engine uses: how libpq is told to reach it. */
#ifndef PG_TARGET_H
#define PG_TARGET_H

#include "kindex/store.h"

enum { PG_WORDS_MAX = 16 };

/* Parameters of PQconnectdbParams, ended by NULL. The texts belong to the
 * target's context, or are constant. */
struct pg_target {
    const char *names[PG_WORDS_MAX];
    const char *values[PG_WORDS_MAX];
    size_t count;
    bool local; /* only addresses of this machine */
};

/* Checks the address in options->engine, reads the password file, and fills in
 * *target_out, in talloc context mem. Without TLS that verifies the server,
 * only addresses of this machine are taken, unless options->engine_insecure.
 * A password in the address is refused: arguments are seen by every user of the
 * machine. KX_OK; KX_BAD_DIRECTORY with a sentence that says what to do;
 * KX_NO_MEMORY. */
enum kx_status pg_target_read(void *mem, const struct kx_options *options,
                              struct pg_target *target_out,
                              struct kx_fault *fault);

#endif
