/* Reading the members of a JSON object in a reply. */
#ifndef API_CLI_JSON_H
#define API_CLI_JSON_H

#include "cli/cli.h"
#include "kindex.h"

/* The raw text of the member with this name. False: the object does not have
 * it. */
bool cli_json_member(struct kx_slice object, const char *name,
                     struct kx_slice *value_out);
/* A text member, unescaped, NUL-terminated, in cli->memory; NULL: there is
 * none. */
char *cli_text(const struct cli *cli, struct kx_slice object, const char *name);
/* A member that is a whole number; 0: the object does not have it. */
uint64_t cli_number(struct kx_slice object, const char *name);

/* The byte to show in place of `byte`: stored data must not send control
 * sequences to a terminal. */
uint8_t cli_shown(uint8_t byte);

#endif
