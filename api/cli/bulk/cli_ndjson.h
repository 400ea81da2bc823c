/* Lines of import and export: an entry in the form of GET /list, or in the form
 * of Deno's kv-utils, with the type of each part and value. */
#ifndef API_CLI_NDJSON_H
#define API_CLI_NDJSON_H

#include "cli/cli_http.h"
#include "kindex.h"

/* The lines of a file, pipe or terminal. Taking a line never blocks, so the
 * caller can handle answers while no line has arrived. */
struct cli_lines {
    int fd;
    struct kx_buffer bytes; /* read from fd */
    size_t at;              /* bytes before this have been taken */
    size_t searched;        /* no line end between `at` and here */
    bool ended;             /* there are no further bytes */
    /* Replaces fd if it is not NULL: appends lines, and sets *ended_out after
     * the last; returns false after printing why it cannot read. */
    bool (*read)(void *store, struct kx_buffer *out, bool *ended_out);
    void *store;
};

/* Begins to read lines from fd, a blocking descriptor that the caller closes.
 * Memory is allocated in owner, a talloc context. */
void cli_lines_begin(struct cli_lines *lines, int fd, const void *owner);

/* Takes the next line, including its line end, which only the last line of the
 * input may lack. The slice is valid until the next cli_lines_read. False if no
 * complete line has been read. */
bool cli_lines_next(struct cli_lines *lines, struct kx_slice *line_out);

/* Puts the line that was taken last back. */
void cli_lines_back(struct cli_lines *lines, struct kx_slice line);

/* True if cli_lines_read would not wait. */
bool cli_lines_readable(const struct cli_lines *lines);

/* Reads from fd once, and may block. Returns true also if a signal ends the
 * wait. Returns false with errno if the input cannot be read or memory ran out,
 * or after the message of lines->read. */
bool cli_lines_read(struct cli_lines *lines);

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
