/* Handlers that say how many entries there are, by file. All follow handler_fn
 * in request.h. */
#ifndef API_COUNT_HANDLERS_H
#define API_COUNT_HANDLERS_H

#include "http/request.h"

/* count.c: GET /count: counts a range in slices, or finds its count. */
handler_fn list_count;
/* tree.c: GET /tree: the next key parts under a prefix. */
handler_fn tree_get;
/* aggregate.c: GET /aggregate: the totals of several groups as one. */
handler_fn aggregate_get;

#endif
