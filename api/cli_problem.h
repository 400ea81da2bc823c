/* What the command line says when a request did not succeed. */
#ifndef API_CLI_PROBLEM_H
#define API_CLI_PROBLEM_H

#include "cli_http.h"

/* Says why no reply came, or not all of it. Returns the exit status. */
int cli_unreachable(const struct cli *cli, CURLcode code);

/* The member of a JSON object that has the name, if it is one: raw text. */
bool cli_member(struct kx_slice object, const char *name,
                struct kx_slice *value_out);
/* The same for a text member, unescaped and ended by NUL under cli->memory;
 * NULL when there is none. */
char *cli_text(const struct cli *cli, struct kx_slice object, const char *name);
/* A member that is a whole number; 0 when there is none. */
uint64_t cli_number(struct kx_slice object, const char *name);

#endif
