/* The database of an engine, as parameters for libpq. */
#ifndef PG_TARGET_H
#define PG_TARGET_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex/store.h"

enum {
    PG_WORDS_MAX = 16,
    PG_HOSTS_MAX = 8, /* in one address */
    PG_ADDRESS_MAX = 64
};

/* A host of the address. NULL: not given. */
struct pg_host {
    const char *name;    /* or the directory of a socket */
    const char *address; /* hostaddr */
    const char *port;
};

/* One of the addresses of a host. */
struct pg_place {
    size_t host;
    char address[PG_ADDRESS_MAX]; /* empty: the host's own */
};

/* Which of the servers are in use. pg_conn.c changes it. */
struct pg_servers {
    pthread_mutex_t lock;
    bool known;           /* guarded by `lock`, like all that follows */
    struct pg_place last; /* connected to */
    uint64_t system;      /* identifies its cluster */
    uint64_t timeline;    /* the highest that is known of that cluster */
    /* How often a server has taken the place of another; written under `lock`.
     */
    atomic_uint_fast64_t moves;
};

/* Parameters of PQconnectStartParams, with NULL as the last element, and the
 * hosts that they name together. The texts belong to the target's talloc
 * context, or are constant. */
struct pg_target {
    const char *names[PG_WORDS_MAX];
    const char *values[PG_WORDS_MAX];
    size_t count;
    bool local;     /* only addresses of this machine */
    int connect_ms; /* limit of a connect, to any of the hosts */
    struct pg_host hosts[PG_HOSTS_MAX];
    size_t host_count;
    struct pg_servers *servers;
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
