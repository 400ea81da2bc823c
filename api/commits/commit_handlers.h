/* Handlers of requests with many mutations, by file; see handler_fn in
 * http/request.h. */
#ifndef API_COMMIT_HANDLERS_H
#define API_COMMIT_HANDLERS_H

#include "http/request.h"

/* ---- atomic.c ---------------------------------------------------------- */

/* POST /atomic: checks and mutations, carried out together or not at all. */
handler_fn atomic_commit;

/* ---- bulk.c ------------------------------------------------------------ */

/* POST /bulk: lines with entries and mutations, in one commit after another.
 * The reply has a line for each commit. */
handler_fn bulk_write;

#endif
