/* The thread that renews the lease, with its connection: neither a
 * long batch nor a slow statement of the writer delays it. While the process is
 * frozen or cut off from the database, nothing is renewed. */
#ifndef PG_KEEPER_H
#define PG_KEEPER_H

#include "postgres/pg_state.h"

struct pg_keeper;

/* Starts the thread, in the talloc context of the engine, which has the lease.
 * NULL: no memory. */
struct pg_keeper *pg_keeper_start(struct pg_engine *engine);

/* Ends the thread; waits for a renewal that is under way. NULL is allowed. */
void pg_keeper_stop(struct pg_keeper *keeper);

#endif
