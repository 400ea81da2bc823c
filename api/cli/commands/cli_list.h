/* Streams of entries from GET /list, for ls, tree and export. */
#ifndef API_CLI_LIST_H
#define API_CLI_LIST_H

#include "cli/cli_http.h"

/* Takes a checked line that is an entry; false stops the stream. */
typedef bool cli_entry_fn(void *target, struct kx_slice entry);

/* Sends GET `path` as a stream and hands each entry to `take`. CLI_OK when the
 * stream came to its end or was stopped; a stream that broke off is
 * CLI_UNAVAILABLE, which is said. */
int cli_entries(struct cli *cli, struct kx_slice path, cli_entry_fn *take,
                void *target);

/* Appends the selection that the options ask for: prefix (a word or an option),
 * start, end, index, reverse. */
void cli_add_selection(const struct cli *cli, struct kx_buffer *path);

/* Deletes all entries under the prefix; *deleted_out is how many those were.
 * Returns the exit status, what was wrong has been said. */
int cli_delete_all(struct cli *cli, const char *prefix, uint64_t *deleted_out);

#endif
