/* Finds out whether a key has an entry or only entries under it, for a hint
 * when the user gave a prefix as a key. */
#ifndef API_CLI_PRESENCE_H
#define API_CLI_PRESENCE_H

#include "cli/cli_http.h"

enum cli_presence {
    PRESENCE_UNKNOWN, /* the token may not read the entry */
    PRESENCE_ENTRY,
    PRESENCE_NOTHING,
    PRESENCE_BELOW /* no entry, but entries under it */
};

/* The presence that a reply to GET of the entry shows. */
enum cli_presence cli_presence_of(const struct cli_reply *reply);

/* Sends GET for the entry and sets *presence_out. Returns CLI_OK, or the exit
 * status after printing why no reply came. */
int cli_presence_ask(struct cli *cli, const char *key,
                     enum cli_presence *presence_out);

/* Prints to standard error that the key has no entry but entries under it, and
 * names a command that is followed by the key. `does` says what the command
 * does with the entries, such as "lists them". */
void cli_presence_tell(const char *key, const char *command, const char *does);

#endif
