/* A file in which Deno or denokv keeps a Deno KV store, read as the lines of an
 * import. The entries come in the order of their versions, as one snapshot,
 * also while a program writes to the file. */
#ifndef API_CLI_SQLITE_H
#define API_CLI_SQLITE_H

#include "cli/bulk/cli_deno.h"
#include "cli/cli.h"

/* A commit of the import gets at most this many bytes of lines of one commit of
 * the file; more are divided. The server's --body-max is twice as large, and a
 * request repeats the keys for its checks. */
enum { CLI_SQLITE_GROUP_BYTES_MAX = 3 << 20 };

struct cli_sqlite {
    const char *path;
    void *memory; /* talloc context */
    struct sqlite3 *database;
    struct sqlite3_stmt *rows;
    size_t batch; /* wanted entries of a commit */
    int64_t now_ms;
    struct kx_buffer group; /* lines of the version that is being read */
    size_t group_count;
    int64_t group_version;
    bool has_row;    /* `rows` stands at a row that has not been read */
    uint64_t queued; /* messages in the queue tables */
    struct kx_buffer queue_prefix; /* encoded parts before the keys of jobs;
                                    * empty: messages are not imported */
    struct kx_buffer key;          /* of a job */
    bool in_queue;                 /* `rows` are messages */
    struct cli_deno deno;
};

/* What an import does with a store that it reads in commits. */
struct cli_store_reader {
    /* Opens the file read-only and checks that this program knows its tables.
     * The contents of `file` live in memory, a talloc context. Returns false
     * after printing why; `close` must be called in both cases. */
    bool (*open)(struct cli_sqlite *file, const char *path, const void *memory);
    /* Appends the lines of the next commit: whole commits of the file, as far
     * as limits allow. Sets *ended_out after the last. Returns false after
     * printing why: the file is damaged, or memory ran out. Prints each entry
     * that cannot be stored and leaves it out. */
    bool (*read)(void *file, struct kx_buffer *out, bool *ended_out);
    /* Prints the number of unexpired entries for each first part of the key,
     * and what was left out. */
    void (*report)(const struct cli_sqlite *file);
    void (*close)(struct cli_sqlite *file);
};

extern const struct cli_store_reader cli_sqlite_reader;

#endif
