/* Lists that the server sends whole or in pages: indexes, access tokens, groups
 * of conflicts. Lists of entries are streams (cli_entries.h). */
#ifndef API_CLI_PAGES_H
#define API_CLI_PAGES_H

#include "cli/cli_http.h"

/* Receives an element of the list. */
typedef void cli_element_fn(const struct cli *cli, void *target,
                            struct kx_slice element);

/* Gets `path` page by page and passes each element of the page's member `list`,
 * an array, to `take`. The elements lie in cli->memory. Returns the exit
 * status; the message of a failure has been printed. */
int cli_pages(struct cli *cli, struct kx_slice path, const char *list,
              cli_element_fn *take, void *target);

#endif
