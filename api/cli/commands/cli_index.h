/* Common functions of the commands about indexes. */
#ifndef API_CLI_INDEX_H
#define API_CLI_INDEX_H

#include "cli/cli_http.h"

/* Sets path to the address of an index. */
void cli_index_address(struct cli *cli, const char *name,
                       struct kx_buffer *path);
/* The same of the index named by the first word, followed by tail. */
void cli_index_path(struct cli *cli, const char *tail, struct kx_buffer *path);

/* Sends a request to that address and prints the reply. Returns the exit
 * status. */
int cli_index_call(struct cli *cli, const char *method, const char *tail,
                   struct kx_slice body);

/* The state of an index as the server shows it; "conflicted" also if its
 * migration is. NULL: the document has no state. */
const char *cli_index_state(const struct cli *cli, struct kx_slice index);

/* Shows the progress of an index until it has settled. CLI_OK: it is ready;
 * CLI_CONFLICT: it is conflicted; CLI_ABSENT: it no longer exists. */
int cli_index_follow(struct cli *cli, const char *name);

#endif
