/* The answer of POST /indexes?dry=1. */
#ifndef API_INDEX_DRY_RUN_H
#define API_INDEX_DRY_RUN_H

#include "http/request.h"

/* After a dry declaration: the reply becomes what it has found, and what would
 * become of hand-kept entries if it adopts them. For handlers. */
void index_dry_run(struct request *request, struct reply *reply,
                   struct kx_slice name);

#endif
