/* One round trip writes this node's row and reads all of them. */
#include "postgres/pg_nodes.h"

#include <pthread.h>
#include <stdio.h>
#include <talloc.h>

#include "postgres/pg_server.h"

enum { BEAT_MS = 500 };

struct pg_nodes {
    uint64_t next_ns; /* the thread that beats */
    pthread_mutex_t lock;
    bool known; /* under `lock`, as what follows */
    struct kx_cluster cluster;
    struct pg_seen seen;
    struct pg_seen shown; /* what was read, and no later commit has confirmed */
    bool unconfirmed;     /* there is something in `shown` */
};

static int finish(struct pg_nodes *nodes)
{
    pthread_mutex_destroy(&nodes->lock);
    return 0;
}

struct pg_nodes *pg_nodes_create(struct pg_engine *engine)
{
    struct pg_nodes *nodes = talloc_zero(engine, struct pg_nodes);
    if (nodes == NULL)
        return NULL;
    pthread_mutex_init(&nodes->lock, NULL);
    talloc_set_destructor(nodes, finish);
    return nodes;
}

static void copy_text(char *to, size_t size, const PGresult *rows, int row,
                      int column)
{
    struct kx_slice text = pg_bytes(rows, row, column);
    snprintf(to, size, "%.*s", (int)text.size, (const char *)text.data);
}

static void read_node(const PGresult *rows, int row, struct kx_node *node)
{
    copy_text(node->node, sizeof node->node, rows, row, 3);
    copy_text(node->address, sizeof node->address, rows, row, 4);
    copy_text(node->role, sizeof node->role, rows, row, 5);
    copy_text(node->version, sizeof node->version, rows, row, 6);
    node->epoch = (uint64_t)pg_number(rows, row, 7);
    node->batch = (uint64_t)pg_number(rows, row, 8);
    int64_t age_ms = pg_number(rows, row, 9);
    node->age_ms = age_ms > 0 ? (uint64_t)age_ms : 0;
}

static void take(struct pg_nodes *nodes, const PGresult *rows)
{
    struct kx_cluster *cluster = &nodes->cluster;
    pthread_mutex_lock(&nodes->lock);
    cluster->epoch = (uint64_t)pg_number(rows, 0, 0);
    cluster->batch = (uint64_t)pg_number(rows, 0, 1);
    cluster->replicated = pg_number(rows, 0, 2) > 0;
    cluster->count = 0;
    for (int row = 0; row < PQntuples(rows) && row < KX_NODES_MAX; row++)
        read_node(rows, row, &cluster->nodes[cluster->count++]);
    nodes->known = true;
    pthread_mutex_unlock(&nodes->lock);
}

/* Queues the write of this node's row. */
static bool send_beat(struct pg_engine *engine, struct pg_conn *conn,
                      const char *role)
{
    struct pg_seen seen = pg_nodes_seen(engine);
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->node));
    pg_params_bytes(&params, kx_text(engine->address));
    pg_params_bytes(&params, kx_text(role));
    pg_params_number(&params, (int64_t)seen.epoch);
    pg_params_number(&params, (int64_t)seen.batch);
    return pg_conn_text(conn, pg_sql_beat, &params);
}

void pg_nodes_shown(struct pg_engine *engine, const struct pg_seen *shown)
{
    struct pg_nodes *nodes = engine->nodes;
    pthread_mutex_lock(&nodes->lock);
    nodes->shown = *shown;
    nodes->unconfirmed = true;
    pthread_mutex_unlock(&nodes->lock);
}

/* The row of this node was committed after what was shown. */
static void confirm_shown(struct pg_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    if (nodes->unconfirmed)
        nodes->seen = nodes->shown;
    nodes->unconfirmed = false;
    pthread_mutex_unlock(&nodes->lock);
}

enum kx_status pg_nodes_confirm(struct pg_engine *engine, struct pg_conn *conn)
{
    return send_beat(engine, conn, "standby") ? pg_conn_finish(conn, NULL)
                                              : KX_UNREACHABLE;
}

void pg_nodes_beat(struct pg_engine *engine, struct pg_conn *conn,
                   const char *role)
{
    struct pg_nodes *nodes = engine->nodes;
    PGresult *rows = NULL;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns < nodes->next_ns || conn->libpq == NULL)
        return;
    nodes->next_ns = now_ns + (uint64_t)(BEAT_MS - 50) * KX_MS_NS;
    if (send_beat(engine, conn, role) &&
        pg_conn_text(conn, pg_sql_trim_seen, NULL) &&
        pg_conn_text(conn, pg_server_nodes, NULL) &&
        pg_conn_finish(conn, &rows) == KX_OK && PQntuples(rows) > 0) {
        take(nodes, rows);
        confirm_shown(nodes);
    }
    PQclear(rows);
}

bool pg_nodes_known(struct pg_engine *engine, struct kx_cluster *cluster_out)
{
    struct pg_nodes *nodes = engine->nodes;
    pthread_mutex_lock(&nodes->lock);
    bool known = nodes->known;
    if (known)
        *cluster_out = nodes->cluster;
    pthread_mutex_unlock(&nodes->lock);
    return known;
}

/* ---- Lost batches ------------------------------------------------------- */

void pg_nodes_saw(struct pg_engine *engine, uint64_t epoch, uint64_t batch,
                  const char *id)
{
    struct pg_nodes *nodes = engine->nodes;
    struct pg_seen *seen = &nodes->seen;
    pthread_mutex_lock(&nodes->lock);
    if (id != NULL || batch != seen->batch)
        snprintf(seen->id, sizeof seen->id, "%s", id != NULL ? id : "");
    seen->epoch = epoch;
    seen->batch = batch;
    nodes->unconfirmed = false;
    pthread_mutex_unlock(&nodes->lock);
}

/* Seen first: the keeper notes what was seen when the database has less than
 * engine->batch. */
void pg_nodes_applied(struct pg_engine *engine)
{
    uint64_t batch = atomic_load(&engine->batch) + 1;
    pg_nodes_saw(engine, atomic_load(&engine->epoch), batch, engine->id);
    atomic_store(&engine->batch, batch);
}

struct pg_seen pg_nodes_seen(struct pg_engine *engine)
{
    struct pg_nodes *nodes = engine->nodes;
    pthread_mutex_lock(&nodes->lock);
    struct pg_seen seen = nodes->seen;
    pthread_mutex_unlock(&nodes->lock);
    return seen;
}

/* The id is noted once: after the loss is accepted, the other batch of that
 * number is there to stay. */
void pg_nodes_note_lost(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_seen seen = pg_nodes_seen(engine);
    struct pg_params params = {.count = 0};
    pg_params_number(&params, (int64_t)seen.epoch);
    pg_params_number(&params, (int64_t)seen.batch);
    pg_params_bytes(&params, kx_text(engine->node));
    pg_params_bytes(&params, kx_text(seen.id));
    if (pg_conn_text(conn, pg_sql_note_lost, &params) &&
        pg_conn_finish(conn, NULL) == KX_OK)
        pg_nodes_saw(engine, seen.epoch, seen.batch, "");
}

enum kx_status pg_nodes_accept_lost(struct pg_engine *engine, bool dry_run,
                                    struct kx_loss *loss_out)
{
    struct pg_conn *conn = &engine->conn;
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, pg_sql_see_lost, NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) == 1) {
        loss_out->epoch = (uint64_t)pg_number(rows, 0, 0);
        loss_out->batch = (uint64_t)pg_number(rows, 0, 1);
        loss_out->known_epoch = (uint64_t)pg_number(rows, 0, 2);
        loss_out->known_batch = (uint64_t)pg_number(rows, 0, 3);
        copy_text(loss_out->node, sizeof loss_out->node, rows, 0, 4);
        loss_out->lost = pg_number(rows, 0, 5) > 0;
    }
    PQclear(rows);
    bool sent = status == KX_OK && !dry_run;
    for (size_t i = 0; sent && pg_sql_accept_lost[i] != NULL; i++)
        sent = pg_conn_text(conn, pg_sql_accept_lost[i], NULL);
    return sent ? pg_conn_finish(conn, NULL) : status;
}

enum kx_status pg_nodes_forget_lost(struct pg_engine *engine)
{
    struct pg_conn *conn = &engine->conn;
    engine->leaps = false;
    return pg_conn_text(conn, pg_sql_forget_lost, NULL)
               ? pg_conn_finish(conn, NULL)
               : KX_UNREACHABLE;
}
