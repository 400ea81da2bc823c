/* The nodes that use the database: each writes a row of the table seen twice a
 * second. And the table lost, by which a node tells all others that the
 * database has less than it has seen there. */
#ifndef PG_NODES_H
#define PG_NODES_H

#include "postgres/pg_state.h"

/* In talloc context engine; NULL: no memory. */
struct pg_nodes *pg_nodes_create(struct pg_engine *engine);

/* Notes through conn that this node lives and has this role, and reads what is
 * noted of all, at most twice a second. What fails is tried again next time.
 * The thread of conn. */
void pg_nodes_beat(struct pg_engine *engine, struct pg_conn *conn,
                   const char *role);

/* Writes the same row as a standby, and waits for it: what was committed before
 * is as safe as this commit. As pg_conn_finish. The thread of conn. */
enum kx_status pg_nodes_confirm(struct pg_engine *engine, struct pg_conn *conn);

/* Copies what was read last. False: nothing yet. Any thread. */
bool pg_nodes_known(struct pg_engine *engine, struct kx_cluster *cluster_out);

/* The last batch that this process has seen in the database, and the epoch. */
struct pg_seen {
    uint64_t epoch, batch;
    char id[UUID_SIZE]; /* of the batch, in log; empty: unknown */
};

/* Remembers it. id NULL: unknown, unless it is the batch seen last. Any
 * thread. */
void pg_nodes_saw(struct pg_engine *engine, uint64_t epoch, uint64_t batch,
                  const char *id);

/* This is in the database, but perhaps not on its synchronous standby. It is
 * remembered as seen when a row of this node was written after it. Any
 * thread. */
void pg_nodes_shown(struct pg_engine *engine, const struct pg_seen *shown);

/* The batch that was sent is applied: engine->batch is its number, and it is
 * the last one seen. The writer's thread. */
void pg_nodes_applied(struct pg_engine *engine);

/* Copies it. Any thread. */
struct pg_seen pg_nodes_seen(struct pg_engine *engine);

/* Notes what this process has seen, if the database is below it, or has another
 * batch of that number. The thread of conn. */
void pg_nodes_note_lost(struct pg_engine *engine, struct pg_conn *conn);

/* Reads what is lost, and unless dry_run accepts it. As pg_conn_finish. */
enum kx_status pg_nodes_accept_lost(struct pg_engine *engine, bool dry_run,
                                    struct kx_loss *loss_out);

/* Ends the acceptance. As pg_conn_finish. */
enum kx_status pg_nodes_forget_lost(struct pg_engine *engine);

#endif
