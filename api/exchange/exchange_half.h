/* One half of a request's handler, or one slice of a stream, on the thread that
 * can have the view that it needs: the loop's, or a read worker
 * (read_workers.h). For exchange*.c and read_workers.c only. */
#ifndef API_EXCHANGE_HALF_H
#define API_EXCHANGE_HALF_H

#include "exchange/exchange.h"

/* Returns whether the half of the handler that comes next needs a view. */
bool exchange_needs_view(const struct exchange *exchange);

/* Runs that half, and for COMMIT the checks before it, which may need the view
 * as well; after a refusal it returns DONE. Ends the view. */
enum progress exchange_half(struct exchange *exchange);

/* For a read worker, whose reader the request has: runs the half, or the slice
 * of a stream, that the exchange waits for. view: the reader holds one. Without
 * it the reply is a problem, and a stream is broken off; but a route that needs
 * no rows (node_is_local) does without. */
void exchange_read(struct exchange *exchange, bool view);

#endif
