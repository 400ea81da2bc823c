/* GET /watch?index=NAME: follows an index of changes (src/indexes/CHANGES.md).
 */
#ifndef API_FEED_H
#define API_FEED_H

#include "rest/query_params.h"

/* Answers a watch whose query names an index. In a section. */
void feed_watch(struct request *request, struct reply *reply,
                const struct query_params *query);

#endif
