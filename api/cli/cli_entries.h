/* Many entries at once: the stream of GET /list, the parameters that select
 * from it, and deleting under a prefix. */
#ifndef API_CLI_ENTRIES_H
#define API_CLI_ENTRIES_H

#include "cli/cli_http.h"

/* Takes a checked line that is an entry; false stops the stream. */
typedef bool cli_entry_fn(void *target, struct kx_slice entry);

/* Sends GET `path` and passes each entry of the stream to `take`. CLI_OK: the
 * stream is complete or was stopped; CLI_UNAVAILABLE: it was cut off, and the
 * message has been printed. */
int cli_entries(struct cli *cli, struct kx_slice path, cli_entry_fn *take,
                void *target);

/* Appends the query parameters of the selection: prefix (a word or an option),
 * start, end, index, reverse. */
void cli_add_selection(const struct cli *cli, struct kx_buffer *path);

/* Deletes all entries under the prefix; *deleted_out is their number. Returns
 * the exit status; the message of a failure has been printed. */
int cli_delete_all(struct cli *cli, const char *prefix, uint64_t *deleted_out);

#endif
