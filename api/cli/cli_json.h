/* Reading the members of a JSON object in a reply. */
#ifndef API_CLI_JSON_H
#define API_CLI_JSON_H

#include "cli/cli.h"
#include "kindex.h"

/* Sets *value_out to the raw text of the member with this name. False if the
 * object does not have the member. */
bool cli_json_member(struct kx_slice object, const char *name,
                     struct kx_slice *value_out);
/* Returns a text member, NUL-terminated, in cli->memory, escaped for a terminal
 * (cli_terminal.h); NULL if the object does not have it. */
char *cli_text(const struct cli *cli, struct kx_slice object, const char *name);
/* Returns a member that is a whole number; 0 if the object does not have it. */
uint64_t cli_number(struct kx_slice object, const char *name);

#endif
