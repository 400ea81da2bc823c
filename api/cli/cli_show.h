/* Entries and documents as output: json, table or raw. */
#ifndef API_CLI_SHOW_H
#define API_CLI_SHOW_H

#include "cli/cli_http.h"

/* Prints one entry, a checked JSON text in the form of lists. Table: the key as
 * a path, the versionstamp, the expiry if there is one, and the value,
 * truncated to the width of the terminal. Raw: the value. */
void cli_show_entry(const struct cli *cli, struct kx_slice entry);
/* Prints one entry as cli_show_entry does, except that raw output is the key as
 * a path. */
void cli_show_listed(const struct cli *cli, struct kx_slice entry);

/* Prints the heading of a table of entries, if the output is a table. */
void cli_show_heading(const struct cli *cli);

/* Print the bytes of a reply: unchanged for raw output, otherwise escaped for a
 * terminal. cli_show_bytes adds a line end if they have none. */
void cli_show_value(const struct cli *cli, struct kx_slice bytes);
void cli_show_bytes(const struct cli *cli, struct kx_slice bytes);

/* Prints a checked document. Table: a line for each member, texts without their
 * quotes; otherwise its bytes. */
void cli_show_document(const struct cli *cli, struct kx_slice document);

/* Appends the key, a JSON array, as a path. False if the array is not a valid
 * key. */
bool cli_key_path(const struct cli *cli, struct kx_slice array,
                  struct kx_buffer *out);

/* Appends a path as a table or tree shows it: visible characters beyond ASCII
 * are not escaped. The result, typed as a key, names the same entry. */
void cli_show_path(struct kx_slice path, struct kx_buffer *out);

/* Escape sequences; empty if standard output is not a terminal. */
const char *cli_bold(const struct cli *cli);
const char *cli_tint(const struct cli *cli);
const char *cli_plain(const struct cli *cli);

#endif
