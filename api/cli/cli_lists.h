/* Lists of the server: in pages (indexes, tokens, conflicts), the stream of
 * entries of GET /list, the query parameters that select entries, and changes
 * of all selected entries. */
#ifndef API_CLI_LISTS_H
#define API_CLI_LISTS_H

#include "cli/cli_http.h"

/* Receives an element of the list. */
typedef void cli_element_fn(const struct cli *cli, void *target,
                            struct kx_slice element);

/* Gets `path` page by page and passes each element of the page's member `list`,
 * an array, to `take`. The elements lie in cli->memory. Returns the exit
 * status; the message of a failure has been printed. */
int cli_pages(struct cli *cli, struct kx_slice path, const char *list,
              cli_element_fn *take, void *target);

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
