/* Lines of import and export: an entry in the form of GET /list, or in the form
 * of Deno's kv-utils, with the type of each part and value. */
#ifndef API_CLI_NDJSON_H
#define API_CLI_NDJSON_H

#include "cli/cli_http.h"

/* How lines are read. */
struct cli_ndjson_rules {
    bool deno;
    struct kx_slice prefix; /* put before each key: JSON parts without brackets,
                             * or empty */
    int64_t now_ms;
};

enum cli_ndjson_kind { LINE_ENTRY, LINE_NOTHING, LINE_EXPIRED, LINE_BAD };

/* The contents of a line, as slices of the buffer given to cli_ndjson_read. */
struct cli_ndjson_entry {
    struct kx_slice key;        /* JSON array */
    struct kx_slice mutation;   /* in the form of POST /atomic */
    char reason[KX_DETAIL_MAX]; /* for LINE_BAD */
};

/* Reads an unchecked line and appends its key and mutation to out. Returns
 * LINE_NOTHING for an empty line and for the last line of a list, LINE_EXPIRED
 * if the entry has expired at rules->now_ms, or LINE_BAD with a reason. The
 * slices of *entry_out are valid until out changes. */
enum cli_ndjson_kind cli_ndjson_read(struct kx_slice line,
                                     const struct cli_ndjson_rules *rules,
                                     struct kx_buffer *out,
                                     struct cli_ndjson_entry *entry_out);

/* Converts a checked line of a list to the form of kv-utils and appends it to
 * out. */
void cli_ndjson_to_deno(struct kx_slice line, struct kx_buffer *out);

#endif
