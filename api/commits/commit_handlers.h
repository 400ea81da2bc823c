/* Handlers of commits, by file. All follow handler_fn in request.h. */
#ifndef API_COMMIT_HANDLERS_H
#define API_COMMIT_HANDLERS_H

#include "http/request.h"

/* ---- atomic.c ---------------------------------------------------------- */

/* POST /atomic: checks and mutations, carried out together or not at all. */
handler_fn atomic_commit;

/* ---- bulk.c ------------------------------------------------------------ */

/* POST /bulk: lines with entries and mutations, in commits one after another,
 * each of which has a line in the reply. */
handler_fn bulk_write;

#endif
