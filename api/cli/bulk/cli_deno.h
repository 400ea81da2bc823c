/* Entries of a Deno KV store that is imported: whether Kindex can store them,
 * their form in a request, and their numbers by first key part. */
#ifndef API_CLI_DENO_H
#define API_CLI_DENO_H

#include "kindex.h"

/* How Deno and its protocol number the encodings of values. */
enum { CLI_DENO_V8 = 1, CLI_DENO_LE64, CLI_DENO_BYTES };

struct cli_deno_entry {
    struct kx_slice key; /* encoded parts */
    struct kx_slice value;
    int64_t encoding; /* may be unknown */
    bool message;     /* the value becomes a member of a job */
};

/* Entries with the same first part of the key. */
struct cli_deno_part;

struct cli_deno {
    const void *memory; /* talloc context */
    size_t prefix_size; /* encoded bytes put before each key */
    bool names_next;    /* the report names the next command */
    uint64_t left_out;
    struct cli_deno_part *parts;
    size_t part_count;
    uint64_t other_count; /* entries of parts beyond those counted */
};

/* True if Kindex can store the entry. Otherwise prints the key and the reason,
 * and counts the entry in deno->left_out. */
bool cli_deno_fits(struct cli_deno *deno, const struct cli_deno_entry *entry);

/* Counts an entry by the first part of its key. */
void cli_deno_count(struct cli_deno *deno, struct kx_slice key);

/* Appends the value of an entry that fits as a typed value with its bytes. Lack
 * of memory shows in out->failed. */
void cli_deno_typed(const struct cli_deno_entry *entry, struct kx_buffer *out);

/* Prints the numbers by first key part, how many entries were left out, and
 * the next command. `from` is what the user gave. */
void cli_deno_report(const struct cli_deno *deno, const char *from);

/* Frees what is not in deno->memory. */
void cli_deno_end(struct cli_deno *deno);

#endif
