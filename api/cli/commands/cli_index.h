/* What the commands about one index share. */
#ifndef API_CLI_INDEX_H
#define API_CLI_INDEX_H

#include "cli/cli_http.h"

/* Makes path the address of the index that the first word names, with tail
 * behind it. */
void cli_index_path(struct cli *cli, const char *tail, struct kx_buffer *path);

/* Sends a request to that address and prints what comes. */
int cli_index_call(struct cli *cli, const char *method, const char *tail,
                   struct kx_slice body);

/* The state of an index as the server shows it, or of its migration, if that is
 * conflicted; NULL: it has none. */
const char *cli_index_state(const struct cli *cli, struct kx_slice index);

/* GET /indexes: on CLI_OK iter_out walks the indexes, which lie in reply. */
int cli_indexes(struct cli *cli, struct cli_reply *reply,
                struct kx_json_iter *iter_out);

/* Shows how far the index that the first word names is, until it has settled.
 * CLI_OK when it is ready, CLI_CONFLICT when it is conflicted, CLI_ABSENT when
 * it is gone. */
int cli_index_follow(struct cli *cli);

#endif
