/* Reading the members of a JSON object in a reply. */
#ifndef API_CLI_JSON_H
#define API_CLI_JSON_H

#include "cli/cli.h"
#include "kindex.h"

/* The raw text of the member with this name. False: the object does not have
 * it. */
bool cli_json_member(struct kx_slice object, const char *name,
                     struct kx_slice *value_out);
/* A text member, NUL-terminated, in cli->memory, as a terminal may show it
 * (cli_terminal.h); NULL: there is none. */
char *cli_text(const struct cli *cli, struct kx_slice object, const char *name);
/* A member that is a whole number; 0: the object does not have it. */
uint64_t cli_number(struct kx_slice object, const char *name);

#endif
