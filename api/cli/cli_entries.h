/* Many entries at once: the stream of GET /list, the query parameters that
 * select entries, and changes of all selected entries. */
#ifndef API_CLI_ENTRIES_H
#define API_CLI_ENTRIES_H

#include "cli/cli_http.h"

/* Receives a line of the stream, checked to be an entry. Return false to stop
 * the stream. */
typedef bool cli_entry_fn(void *target, struct kx_slice entry);

/* Sends GET `path` and passes each entry of the stream to `take`. Returns
 * CLI_OK if the stream is complete or was stopped, CLI_UNAVAILABLE if it was
 * cut off, or the exit status of a failed request; the message of a failure has
 * been printed. */
int cli_entries(struct cli *cli, struct kx_slice path, cli_entry_fn *take,
                void *target);

/* Appends the parameter of the prefix, which is a word or an option. */
void cli_add_prefix(const struct cli *cli, struct kx_buffer *path);
/* Appends the query parameters of the selection: prefix (a word or an option),
 * start, end, index, reverse. */
void cli_add_selection(const struct cli *cli, struct kx_buffer *path);

/* Appends the parameters of a range that only options give: prefix, start, end,
 * index. */
void cli_add_range(const struct cli *cli, struct kx_buffer *path);

/* True if an option gives such a range. */
bool cli_names_range(const struct cli *cli);

/* Repeats a DELETE or PATCH /list until no entry is left, since each commit
 * changes at most one page. *count_out is the sum of the replies' member
 * `done`, also if a request fails. Returns the exit status; the message of a
 * failure has been printed. */
int cli_change_range(struct cli *cli, struct cli_call call, const char *done,
                     uint64_t *count_out);

#endif
