/* Whether there is an entry at a key, or only under it: what is said of a key
 * that was taken for a prefix. */
#ifndef API_CLI_PRESENCE_H
#define API_CLI_PRESENCE_H

#include "cli/cli_http.h"

enum cli_presence {
    PRESENCE_UNKNOWN, /* the entry may not be read */
    PRESENCE_ENTRY,
    PRESENCE_NOTHING,
    PRESENCE_BELOW /* no entry, but entries under it */
};

/* What the reply to GET of an entry says. */
enum cli_presence cli_presence_of(const struct cli_reply *reply);

/* Asks for the entry. CLI_OK, or the exit status when no reply came, which has
 * been said. */
int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out);

/* Says to standard error that there is no entry at the key, but entries under
 * it, which the command (followed by the key) does for them. */
void cli_presence_tell(const char *key, const char *command, const char *does);

#endif
