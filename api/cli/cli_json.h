/* The members of a JSON object that a server has answered. */
#ifndef API_CLI_MEMBER_H
#define API_CLI_MEMBER_H

#include "cli/cli.h"
#include "kindex.h"

/* The member that has the name, if there is one: raw text. */
bool cli_json_member(struct kx_slice object, const char *name,
                     struct kx_slice *value_out);
/* The same for a text member, unescaped and ended by NUL under cli->memory;
 * NULL when there is none. */
char *cli_text(const struct cli *cli, struct kx_slice object, const char *name);
/* A member that is a whole number; 0 when there is none. */
uint64_t cli_number(struct kx_slice object, const char *name);

/* A byte as it may be shown: what others have written must not command a
 * terminal. */
uint8_t cli_shown(uint8_t byte);

#endif
