/* Whether there is an entry with a key, or only entries under it: for a hint
 * when a prefix was given as a key. */
#ifndef API_CLI_PRESENCE_H
#define API_CLI_PRESENCE_H

#include "cli/cli_http.h"

enum cli_presence {
    PRESENCE_UNKNOWN, /* the token must not read the entry */
    PRESENCE_ENTRY,
    PRESENCE_NOTHING,
    PRESENCE_BELOW /* no entry, but entries under it */
};

/* The presence by the reply to GET of an entry. */
enum cli_presence cli_presence_of(const struct cli_reply *reply);

/* Sends GET for the entry. CLI_OK, or the exit status when no reply came; the
 * message has been printed then. */
int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out);

/* Prints to standard error that there is no entry with the key but entries
 * under it, and the command (followed by the key) that `does` something with
 * those, such as "lists them". */
void cli_presence_tell(const char *key, const char *command, const char *does);

#endif
