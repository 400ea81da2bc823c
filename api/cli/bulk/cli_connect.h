/* A store at a KV Connect address, of Deno Deploy, denokv or Kindex, that an
 * import reads. */
#ifndef API_CLI_CONNECT_H
#define API_CLI_CONNECT_H

#include "cli/bulk/cli_deno.h"
#include "cli/cli_http.h"

enum { CLI_CONNECT_STAMP = 2 * KX_STAMP_BYTES };

struct cli_connect_entry {
    bool found; /* false after the last entry */
    struct cli_deno_entry entry;
    char stamp[CLI_CONNECT_STAMP + 1]; /* hexadecimal digits */
};

/* The last page that was read, and where the next one begins. */
struct cli_connect {
    struct cli at; /* options of the requests to the source */
    const char *address;
    struct kx_buffer reply;
    struct kx_buffer body;
    const char *secret; /* of --token-file; NULL: none */
    const char *token;  /* of the data path */
    char *endpoint;     /* of the data path */
    uint64_t version;
    char *database;
    struct Datapath__SnapshotReadOutput *page;
    size_t next;            /* entry of the page */
    int32_t rows;           /* of a page */
    struct kx_buffer start; /* key at which the next page begins */
    bool last;              /* the page is the last one */
};

/* True if what --from names is an address and not a file. */
static inline bool cli_connect_names(const char *from)
{
    return strncmp(from, "http://", 7) == 0 ||
           strncmp(from, "https://", 8) == 0;
}

/* Opens the store of cli->from with the token of cli->token_file; the contents
 * of `source` live in cli->memory. Returns the exit status, after printing a
 * failure; call cli_connect_end in both cases. */
int cli_connect_open(struct cli_connect *source, const struct cli *cli);
void cli_connect_end(struct cli_connect *source);

/* Begins to read the entries after this key; empty: all entries. */
void cli_connect_after(struct cli_connect *source, struct kx_slice key);

/* Sets *entry_out to the next entry, which is valid until the next call.
 * Retries while the source is overloaded or breaks off. Returns the exit
 * status, after printing a failure. */
int cli_connect_next(struct cli_connect *source,
                     struct cli_connect_entry *entry_out);

#endif
