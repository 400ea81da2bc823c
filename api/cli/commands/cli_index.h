/* Common functions of the commands about indexes. */
#ifndef API_CLI_INDEX_H
#define API_CLI_INDEX_H

#include "cli/cli_http.h"

/* Sets *path, which need not be initialized, to /indexes/NAME. The caller frees
 * it. */
/* Sets *path as cli_index_address does for the index that the first word names,
 * then appends tail (such as "/conflicts"). */
void cli_index_path(struct cli *cli, const char *tail, struct kx_buffer *path);

/* Sends a request to the path that cli_index_path makes of tail and prints the
 * reply. Returns the exit status; the message of a failure has been printed. */
int cli_index_call(struct cli *cli, const char *method, const char *tail,
                   struct kx_slice body);

/* Returns the state in an index document, in cli->memory, or "conflicted" if
 * its migration is conflicted. Returns NULL if the document has no state. */
const char *cli_index_state(const struct cli *cli, struct kx_slice index);

/* Shows the progress of an index until it no longer changes by itself. Returns
 * CLI_OK if it is ready, CLI_CONFLICT if it is conflicted, CLI_ABSENT if it no
 * longer exists; any other exit status after printing why the request failed.
 */
int cli_index_follow(struct cli *cli, const char *name);

#endif
