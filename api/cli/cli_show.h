/* Entries and documents as output: json, table or raw. */
#ifndef API_CLI_SHOW_H
#define API_CLI_SHOW_H

#include "cli/cli_http.h"

/* Prints one entry (a checked JSON text as lists have it). In the table the key
 * as a path, the versionstamp and the value, cut where a terminal's line ends;
 * raw: the value. */
void cli_show_entry(const struct cli *cli, struct kx_slice entry);
/* The same, for which raw means the key as a path. */
void cli_show_listed(const struct cli *cli, struct kx_slice entry);

/* Prints the heading of a table of entries, if there is one. */
void cli_show_heading(const struct cli *cli);

/* Prints a reply's document: its bytes, and a line end when they have none. */
void cli_show_bytes(struct kx_slice bytes);

/* Prints a checked document: in the table a line for each member, texts
 * without their quotes; else its bytes. */
void cli_show_document(const struct cli *cli, struct kx_slice document);

/* Appends the key, a JSON array, as a path. False when it is none. */
bool cli_key_path(const struct cli *cli, struct kx_slice array,
                  struct kx_buffer *out);

/* Appends a path as a table or tree shows it: letters beyond ASCII as they are.
 * Read as a key it is the same one. */
void cli_show_path(struct kx_slice path, struct kx_buffer *out);

/* Escape sequences, empty when standard output is no terminal. */
const char *cli_bold(const struct cli *cli);
const char *cli_tint(const struct cli *cli);
const char *cli_plain(const struct cli *cli);

#endif
