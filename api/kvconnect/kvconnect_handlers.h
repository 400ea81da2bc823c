/* Handlers of KV Connect, the protocol of Deno and @deno/kv, by file. All
 * follow handler_fn in request.h. */
#ifndef API_KVCONNECT_HANDLERS_H
#define API_KVCONNECT_HANDLERS_H

#include "http/request.h"

/* POST /: the protocol's version, the database's id and the data path's URL. */
handler_fn kvconnect_metadata;
/* POST /v2/snapshot_read: some ranges in one view. */
handler_fn kvconnect_read;
/* POST /v2/atomic_write: checks and mutations. */
handler_fn kvconnect_write;
/* POST /v2/watch: frames without an end. */
handler_fn kvconnect_watch;

#endif
