/* Lists that a server gives in pages: access tokens, groups of conflicts.
 * (Those of entries are streams: cli_list.h.)
 */
#ifndef API_CLI_PAGES_H
#define API_CLI_PAGES_H

#include "cli/cli_http.h"

/* Takes an element of the list. */
typedef void cli_element_fn(const struct cli *cli, void *target,
                            struct kx_slice element);

/* Gets `path` page by page and hands over each element of the array that is the
 * member `list` of a page. Returns the exit status; what was wrong has been
 * said. */
int cli_pages(struct cli *cli, struct kx_slice path, const char *list,
              cli_element_fn *take, void *target);

#endif
