/* Many entries at once: the stream of GET /list, the parameters that select
 * from it, and changes of all that are selected. */
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

/* Appends the prefix, a word or an option. */
void cli_add_prefix(const struct cli *cli, struct kx_buffer *path);
/* Appends the query parameters of the selection: prefix (a word or an option),
 * start, end, index, reverse. */
void cli_add_selection(const struct cli *cli, struct kx_buffer *path);

/* The same of a range in which no word is the prefix, and that has no order. */
void cli_add_range(const struct cli *cli, struct kx_buffer *path);

/* Is such a range given by an option? */
bool cli_names_range(const struct cli *cli);

/* Sends a DELETE or PATCH /list until no entry is left; *count_out is the sum
 * of the member `done`, also if a request fails. Returns the exit status; the
 * message of a failure has been printed. */
int cli_change_range(struct cli *cli, struct cli_call call, const char *done,
                     uint64_t *count_out);

#endif
