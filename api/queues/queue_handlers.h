/* Handlers of queues, by file. All follow handler_fn in request.h. */
#ifndef API_QUEUE_HANDLERS_H
#define API_QUEUE_HANDLERS_H

#include "http/request.h"

/* queues.c: GET /queues, GET /queues/{name}: declarations, and how many jobs
 * are in which state. */
handler_fn queue_list;
handler_fn queue_show;
/* claims.c: POST /queues/{name}/claim: leases jobs that are due. */
handler_fn queue_claim;
/* receipts.c: POST /queues/{name}/ack and so on: what becomes of claimed jobs.
 */
handler_fn queue_ack;
handler_fn queue_extend;
handler_fn queue_release;
handler_fn queue_fail;

#endif
