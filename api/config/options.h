/* The options of the server. One table (options_table.c) drives the command
 * line flags, the KINDEX_* environment variables, --help and --print-config. A
 * flag overrides a variable, and a variable overrides the default. Call the
 * functions only on the main thread while the program starts. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/address.h"

enum option_type {
    OPTION_TEXT,     /* a path */
    OPTION_LIST,     /* names, with commas */
    OPTION_ORIGINS,  /* sites, with commas (options_parse.c) */
    OPTION_SIZE,     /* bytes: 4096, 64KiB, 1MiB, 2G */
    OPTION_DURATION, /* milliseconds: 500ms, 60s, 5m, 1h */
    OPTION_NUMBER,
    OPTION_ADDRESSES, /* 127.0.0.1:4512, [::1]:4512, 4512; a repeated flag adds
                       * addresses */
    OPTION_NODE,      /* letters, digits, '.', '-', '_' */
    OPTION_URL,       /* http:// or https://, and a host, without a path */
    OPTION_FORWARD,   /* proxy, redirect, off */
    OPTION_LEVEL,     /* error, warning, info, debug */
    OPTION_SWITCH,    /* on, off */
    OPTION_FLAG,      /* on if given; in the environment 1 or 0 */
    OPTION_ACTION     /* not a setting, so without a variable: --help */
};

/* How a standby handles a request that only the active node can answer. */
enum forward_mode {
    FORWARD_OFF,     /* 503 */
    FORWARD_PROXY,   /* forwards the active node's answer */
    FORWARD_REDIRECT /* 307 */
};

enum option_source { FROM_DEFAULT, FROM_ENVIRONMENT, FROM_FLAG };

enum {
    OPTIONS_MAX = 72,
    OPTION_EXPECTED_MAX = 320 /* bytes of a description of valid texts */
};

/* The effective settings, with sizes in bytes. Filled once at the start,
 * constant afterwards, so every thread may read them. */
struct options {
    const char *data; /* NULL with --ephemeral until its directory is created */
    bool ephemeral;
    struct addresses listen;
    const char *tls_cert; /* NULL: plain HTTP */
    const char *tls_key;
    const char *tls_client_ca;  /* NULL: clients need no certificate */
    const char *tls_client_crl; /* revoked ones; NULL: none are */
    uint64_t loops;
    uint64_t connections_max;
    uint64_t connections_per_address;
    uint64_t streams_max;  /* concurrent requests on one HTTP/2 connection */
    uint64_t requests_max; /* concurrent requests on all connections */
    uint64_t headers_max;  /* bytes of a request's line and headers */
    uint64_t header_count_max;
    uint64_t idle_timeout_ms;
    uint64_t header_timeout_ms; /* for a TLS handshake, and for a head */
    uint64_t body_timeout_ms;
    uint64_t cache;
    uint64_t value_max;
    uint64_t body_max;
    uint64_t bulk_max;
    uint64_t bodies_max; /* bytes of all bodies held at the same time */
    uint64_t queue_max;
    uint64_t idempotency_ttl_ms;
    uint64_t idempotency_quota;
    uint64_t checkpoint_interval_ms;
    uint64_t checkpoint_log;
    uint64_t disk_floor;
    uint64_t build_memory;
    const char *engine; /* NULL: rows are stored in the data directory */
    const char *engine_password_file;
    bool engine_insecure;
    const char *node;      /* NULL: the host's name */
    const char *advertise; /* URL at which other nodes reach this node; NULL:
                            * none */
    int forward;           /* enum forward_mode */
    uint64_t read_workers; /* threads that read from a database or slow disk */
    const char *peer_ca;   /* authorities of other nodes; NULL: the system's */
    const char *archive;   /* NULL: none */
    bool followed;         /* standbys follow the archive */
    uint64_t fence_lease_ms;
    bool archive_sync;
    const char *follow;  /* archive of another server; NULL: none */
    const char *primary; /* URL of that server; NULL: none */
    uint64_t archive_interval_ms;
    uint64_t archive_keep;
    int log_level; /* enum kx_log_level */
    bool access_log;
    uint64_t scan_max;
    uint64_t slow_ms;
    bool insecure;
    const char *port_file; /* NULL: none */
    const char *token_file;
    const char *jwt_keys; /* a file or an https address; NULL: no JSON Web
                           * Tokens */
    const char *jwt_issuer;
    const char *jwt_audience;
    const char *jwt_ca;     /* authorities of jwt_keys; NULL: the system's */
    const char *grants;     /* file with the grants of identities; NULL: none */
    const char *host_names; /* separated by commas; NULL: none */
    const char *cors_origin; /* separated by commas; NULL: none */
    bool console;            /* pages for a browser */
    bool compress;           /* replies, for clients that accept that */
    uint64_t token_rate;     /* requests per minute with one token */
    uint64_t token_streams;  /* concurrent streams with one token */
    bool help;
    bool print_config;
    bool print_routes;
    bool print_problems;
    /* For --print-config: the text of each row and its source. */
    const char *texts[OPTIONS_MAX];
    enum option_source sources[OPTIONS_MAX];
};

/* One row of the table: all that the program knows about an option. */
struct option_row {
    const char *name; /* "idle-timeout": --idle-timeout, KINDEX_IDLE_TIMEOUT */
    enum option_type type;
    size_t offset;        /* of the member in struct options */
    const char *initial;  /* default; NULL: none */
    uint64_t least, most; /* of numbers, sizes and durations */
    const char *help;
};

/* Returns the table and sets *count_out to its number of rows. */
const struct option_row *options_table(size_t *count_out);

/* Fills options from defaults, environment and argv[1..]. The members point to
 * these strings, which must stay valid. On an error prints one line to standard
 * error and returns false. */
bool options_read(struct options *options, int argc, char **argv);

/* Reads text, by the row's type, into the member of settings at the row's
 * offset; settings is struct options or another struct with such rows. The
 * member may point to text afterwards. On an error writes what was expected to
 * expected_out (`size` bytes) and returns false. */
bool option_parse(const struct option_row *row, const char *text,
                  void *settings, char *expected_out, size_t size);

/* Writes the name of a row's environment variable, with its NUL. */
void option_variable(const struct option_row *row, char *out, size_t size);

/* Prints a line of help to standard output: the flag, its meaning, and the
 * default (NULL: none). Long lines are wrapped on a terminal. */
void options_print_line(const char *flag, const char *help,
                        const char *initial);
/* Prints the help of kindex serve to standard output, a line for each option.
 */
void options_print_help(void);
/* Prints name, effective value and source of each setting. */
void options_print_config(const struct options *options);

#endif
