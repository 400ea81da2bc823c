/* An update of meta waits for any transaction that has locked the row, and thus
 * for a batch that is being applied. When the update returns, that batch has
 * been applied or never will be: its epoch is no longer the one in the row. The
 * update itself does not see the batch's row of log, because its snapshot is
 * older, so a later statement reads the position.
 *
 * By this machine's clock the lease expires a little earlier than by the
 * database's: its time is counted from before the renewal was sent.
 *
 * One file because taking and renewing the lease, the rows of the nodes and
 * lost batches share what this process has seen of the database. */
#include "postgres/pg_lease.h"

#include <pthread.h>
#include <stdio.h>
#include <talloc.h>
#include <time.h>

#include "base/cond_wait.h"
#include "postgres/pg_conn.h"

static struct pg_seen pg_nodes_seen(struct pg_engine *engine);

struct pg_keeper {
    struct pg_engine *engine;
    struct pg_conn conn;
    int sessions[2]; /* the engine's and its own, when they were compared */
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop; /* guarded by `lock` */
};

/* One round trip writes this node's row and reads those of all nodes. */

enum {
    BEAT_MS = 500,
    LOAD_MS = 5000 /* between two reads of the database's load */
};

struct pg_nodes {
    uint64_t next_ns; /* when to write the row again; beating thread only */
    uint64_t next_load_ns; /* when to read the load; beating thread only */
    pthread_mutex_t lock;
    bool known; /* guarded by `lock`, like all that follows */
    struct kx_cluster cluster;
    struct pg_seen seen;
    struct pg_seen shown; /* read, but not yet confirmed by a later commit */
    bool unconfirmed;     /* `shown` is set */
};

static int finish(struct pg_nodes *nodes)
{
    pthread_mutex_destroy(&nodes->lock);
    return 0;
}

static struct pg_nodes *create_nodes(struct pg_engine *engine)
{
    struct pg_nodes *nodes = talloc_zero(engine, struct pg_nodes);
    if (nodes == NULL)
        return NULL;
    pthread_mutex_init(&nodes->lock, NULL);
    talloc_set_destructor(nodes, finish);
    return nodes;
}

static void pg_nodes_copy_text(char *to, size_t size, const PGresult *rows,
                               int row, int column)
{
    struct kx_slice text = pg_bytes(rows, row, column);
    snprintf(to, size, "%.*s", (int)text.size, (const char *)text.data);
}

static void read_node(const PGresult *rows, int row, struct kx_node *node)
{
    pg_nodes_copy_text(node->node, sizeof node->node, rows, row, 3);
    pg_nodes_copy_text(node->address, sizeof node->address, rows, row, 4);
    pg_nodes_copy_text(node->role, sizeof node->role, rows, row, 5);
    pg_nodes_copy_text(node->version, sizeof node->version, rows, row, 6);
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

/* Notes a batch that is in the database but perhaps not on its synchronous
 * standby. It counts as seen once a row of this node, written later, is
 * committed. Any thread. */
static void pg_nodes_shown(struct pg_engine *engine,
                           const struct pg_seen *shown)
{
    struct pg_nodes *nodes = engine->nodes;
    pthread_mutex_lock(&nodes->lock);
    nodes->shown = *shown;
    nodes->unconfirmed = true;
    pthread_mutex_unlock(&nodes->lock);
}

/* Confirms `shown`: this node's row was committed after it. */
static void confirm_shown(struct pg_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    if (nodes->unconfirmed)
        nodes->seen = nodes->shown;
    nodes->unconfirmed = false;
    pthread_mutex_unlock(&nodes->lock);
}

/* Writes this node's row, in the role of a standby, and waits for the commit:
 * everything committed before is as safe as this commit. Statuses of
 * pg_conn_finish. The thread of conn. */
static enum kx_status pg_nodes_confirm(struct pg_engine *engine,
                                       struct pg_conn *conn)
{
    return send_beat(engine, conn, "standby") ? pg_conn_finish(conn, NULL)
                                              : KX_UNREACHABLE;
}

/* Writes to the database that this node lives and has this role, and reads the
 * rows of all nodes, at most twice a second. Failures are retried next time.
 * The thread of conn. */
static void pg_nodes_beat(struct pg_engine *engine, struct pg_conn *conn,
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
        atomic_store(&engine->commits_wait, false);
    }
    PQclear(rows);
}

static void take_load(struct pg_nodes *nodes, const PGresult *rows)
{
    uint64_t number[5];
    for (int i = 0; i < 5; i++) {
        int64_t shown = pg_number(rows, 0, i);
        number[i] = shown > 0 ? (uint64_t)shown : 0;
    }
    pthread_mutex_lock(&nodes->lock);
    nodes->cluster.load =
        (struct kx_database_load){.oldest_ms = number[0],
                                  .dead_rows = number[1],
                                  .slot_bytes = number[2],
                                  .connections = number[3],
                                  .connections_max = number[4]};
    pthread_mutex_unlock(&nodes->lock);
}

/* Reads the database's load at most once in LOAD_MS. Failures are retried next
 * time. The thread of conn. */
static void pg_nodes_read_load(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_nodes *nodes = engine->nodes;
    PGresult *rows = NULL;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns < nodes->next_load_ns || conn->libpq == NULL)
        return;
    nodes->next_load_ns = now_ns + (uint64_t)LOAD_MS * KX_MS_NS;
    if (pg_conn_text(conn, pg_server_load, NULL) &&
        pg_conn_finish(conn, &rows) == KX_OK && PQntuples(rows) == 1)
        take_load(nodes, rows);
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

/* Remembers the last batch seen. id NULL: unknown, unless the batch is the one
 * already remembered. Any thread. */
static void pg_nodes_saw(struct pg_engine *engine, uint64_t epoch,
                         uint64_t batch, const char *id)
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

/* Remembers the batch before it raises engine->batch: the keeper reports a loss
 * if the database has less than engine->batch. */
void pg_nodes_applied(struct pg_engine *engine)
{
    uint64_t batch = atomic_load(&engine->batch) + 1;
    pg_nodes_saw(engine, atomic_load(&engine->epoch), batch, engine->id);
    atomic_store(&engine->batch, batch);
}

/* Copies the last batch seen. Any thread. */
static struct pg_seen pg_nodes_seen(struct pg_engine *engine)
{
    struct pg_nodes *nodes = engine->nodes;
    pthread_mutex_lock(&nodes->lock);
    struct pg_seen seen = nodes->seen;
    pthread_mutex_unlock(&nodes->lock);
    return seen;
}

/* Notes the id only once, because after the loss is accepted a different batch
 * has that number. */
static void pg_nodes_note_lost(struct pg_engine *engine, struct pg_conn *conn)
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
        pg_nodes_copy_text(loss_out->node, sizeof loss_out->node, rows, 0, 4);
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

enum {
    SESSION_LOOKS = 8,    /* to find that sessions are shared */
    MARGIN_MS = 100,      /* how far the two clocks may drift apart during a
                           * lease */
    MAKE_ATTEMPTS_MAX = 5 /* to create the tables beside another process */
};

/* A clock that also runs while the machine is suspended. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * KX_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void note_renewal(struct pg_engine *engine, uint64_t sent_ns)
{
    atomic_store(&engine->commits_wait, false);
    atomic_store(&engine->held_until_ns,
                 sent_ns + (uint64_t)(KX_LEASE_MS - MARGIN_MS) * KX_MS_NS);
}

bool pg_lease_holds(const struct pg_engine *engine)
{
    return !atomic_load(&engine->failed) &&
           now_ns() < atomic_load(&engine->held_until_ns);
}

/* After a commit of the keeper was not answered: finds out, on its next
 * connection, whether the database waits for its synchronous standby. */
static void look_for_wait(struct pg_engine *engine, struct pg_conn *conn)
{
    PGresult *rows = NULL;
    if (!conn->unanswered)
        return;
    conn->unanswered = false;
    if (pg_conn_text(conn, pg_server_waiting, NULL) &&
        pg_conn_finish(conn, &rows) == KX_OK && pg_number(rows, 0, 0) > 0 &&
        !atomic_exchange(&engine->commits_wait, true))
        kx_log(KX_LOG_WARNING, "database",
               "detail=\"commits wait for a standby of the database\"");
    PQclear(rows);
}

/* ---- The keeper's connection -------------------------------------------- */

static enum kx_status ask_session(struct pg_conn *conn, int *session_out)
{
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, "SELECT pg_backend_pid()::int8", NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK)
        *session_out = (int)pg_number(rows, 0, 0);
    PQclear(rows);
    return status;
}

/* A pooler gives its clients keys of its own, which name no process of the
 * database. In session mode each of the two connections keeps its process;
 * otherwise a pooler lends the process that it has used last, so both meet the
 * same one, or one of them meets a different process from before. */
static enum kx_status compare_sessions(struct pg_keeper *keeper,
                                       struct pg_conn *conn,
                                       struct kx_fault *fault)
{
    struct pg_conn *own = &keeper->conn;
    int *sessions = keeper->sessions;
    if (conn->server.pid == PQbackendPID(conn->libpq) ||
        (sessions[0] == conn->server.pid && sessions[1] == own->server.pid))
        return KX_OK;
    bool shared = conn->server.pid == own->server.pid;
    for (int i = 0; i < SESSION_LOOKS && !shared; i++) {
        int session = 0;
        struct pg_conn *asked = i % 2 == 0 ? conn : own;
        enum kx_status status = ask_session(asked, &session);
        if (status != KX_OK) {
            *fault = asked->fault;
            return KX_UNREACHABLE;
        }
        shared = session != asked->server.pid;
    }
    if (shared)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "the database is reached through a pooler that gives "
                       "one session to several connections; use session mode");
    sessions[0] = conn->server.pid;
    sessions[1] = own->server.pid;
    return KX_OK;
}

/* Connects the keeper unless that is done, and checks that both connections of
 * the engine lead to the same server, each to a session of its own. KX_OK,
 * KX_UNREACHABLE, KX_BAD_DIRECTORY, KX_NO_MEMORY. While the thread does not
 * run. */
static enum kx_status connect_keeper(struct pg_engine *engine,
                                     struct kx_fault *fault)
{
    struct pg_keeper *keeper = engine->keeper;
    struct pg_conn *own = &keeper->conn;
    pg_conn_follow(own);
    enum kx_status status = pg_conn_open(own, fault);
    if (status != KX_OK)
        return status;
    look_for_wait(engine, own);
    if (own->server.system != engine->conn.server.system ||
        own->server.timeline != engine->conn.server.timeline) {
        pg_conn_close(&engine->conn);
        return kx_fail(fault, KX_UNREACHABLE,
                       "the database: another server has taken its place");
    }
    return compare_sessions(keeper, &engine->conn, fault);
}

/* ---- Tables ------------------------------------------------------------- */

static enum kx_status judge_format(int64_t format, bool upgrade,
                                   struct kx_fault *fault)
{
    if (format > PG_FORMAT)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "the tables have format %lld; this version of kindex "
                       "knows formats up to %d: use a newer one",
                       (long long)format, PG_FORMAT);
    if (format < PG_FORMAT && !upgrade)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "the tables have format %lld, this version of kindex "
                       "uses format %d: when no node with an older version is "
                       "left, run kindex cluster upgrade",
                       (long long)format, PG_FORMAT);
    return format < PG_FORMAT ? KX_ABSENT : KX_OK;
}

/* KX_ABSENT: tables are missing, or must be upgraded to a newer format. */
static enum kx_status look_at_format(struct pg_conn *conn, bool upgrade)
{
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, pg_sql_format, NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_ABSENT;
    if (status == KX_OK)
        status = judge_format(pg_number(rows, 0, 0), upgrade, &conn->fault);
    if (status == KX_OK && pg_number(rows, 0, 1) != PG_LATER_TABLES)
        status = KX_ABSENT;
    PQclear(rows);
    return status;
}

/* One transaction, because several processes may start at the same time. */
static enum kx_status make_tables(struct pg_conn *conn)
{
    bool sent = pg_conn_text(conn, pg_server_schema_lock, NULL);
    for (size_t i = 0; sent && pg_sql_schema[i] != NULL; i++)
        sent = pg_conn_text(conn, pg_sql_schema[i], NULL);
    return sent ? pg_conn_finish(conn, NULL) : KX_UNREACHABLE;
}

/* If two processes deadlock, the database fails one of them; that one retries
 * and finds the tables that the other created. */
enum kx_status pg_lease_make_tables(struct pg_engine *engine, bool upgrade,
                                    struct kx_fault *fault)
{
    struct pg_conn *conn = &engine->conn;
    enum kx_status status = connect_keeper(engine, fault);
    if (status != KX_OK)
        return status;
    status = KX_AGAIN;
    for (int i = 0; i < MAKE_ATTEMPTS_MAX && status == KX_AGAIN; i++) {
        status = look_at_format(conn, upgrade);
        if (status == KX_ABSENT)
            status = make_tables(conn);
    }
    if (status != KX_OK)
        *fault = conn->fault;
    return status;
}

/* ---- Taking ------------------------------------------------------------- */

/* If this role may not end sessions, wait for the lock instead. */
static enum kx_status end_holder(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->holder));
    if (!pg_conn_text(conn, pg_server_end_holder, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, NULL);
    return status == KX_UNREACHABLE ? status : KX_OK;
}

static bool send_hold(struct pg_engine *engine, struct pg_conn *conn,
                      const char *sql)
{
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->holder));
    pg_params_bytes(&params, kx_text(engine->node));
    pg_params_bytes(&params, kx_text(engine->address));
    pg_params_number(&params, KX_LEASE_MS);
    return pg_conn_text(conn, pg_server_lock_timeout, NULL) &&
           pg_conn_text(conn, sql, &params);
}

/* Reads the number of the last batch under the epoch that this process has just
 * begun. KX_ABSENT: another process has begun a later one since. */
static enum kx_status read_batch(struct pg_engine *engine, struct pg_conn *conn,
                                 uint64_t *batch_out)
{
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, pg_sql_text(PG_WHERE), NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK &&
        (PQntuples(rows) != 1 ||
         (uint64_t)pg_number(rows, 0, 0) != atomic_load(&engine->epoch)))
        status = KX_ABSENT;
    if (status == KX_OK)
        *batch_out = (uint64_t)pg_number(rows, 0, 1);
    PQclear(rows);
    return status;
}

/* Sets the epoch, and *batch_out to the number of the last batch. KX_ABSENT:
 * the lease belongs to another process. KX_AGAIN: a batch of the last holder is
 * still being applied. */
static enum kx_status hold(struct pg_engine *engine, struct pg_conn *conn,
                           const char *sql, uint64_t *batch_out)
{
    PGresult *rows = NULL;
    enum kx_status status = end_holder(engine, conn);
    uint64_t sent_ns = now_ns();
    if (status == KX_OK && !send_hold(engine, conn, sql))
        status = KX_UNREACHABLE;
    if (status == KX_OK)
        status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_ABSENT;
    if (status == KX_OK) {
        atomic_store(&engine->epoch, (uint64_t)pg_number(rows, 0, 0));
        note_renewal(engine, sent_ns);
        engine->facts_folded = false;
    }
    PQclear(rows);
    return status == KX_OK ? read_batch(engine, conn, batch_out) : status;
}

static void copy_text(char *to, size_t size, struct kx_slice from)
{
    snprintf(to, size, "%.*s", (int)from.size, (const char *)from.data);
}

/* All nodes follow the database's clock, which never shows a time before the
 * last batch. */
static void follow_clock(const PGresult *rows, int column)
{
    kx_clock_follow(pg_number(rows, 0, column), pg_number(rows, 0, column + 1));
}

/* Returns whether the database lacks commits that this node has seen in it, or
 * has other commits in their place. If so, notes the loss for all nodes. */
static bool look_for_loss(struct pg_engine *engine, const struct pg_seen *seen,
                          const PGresult *rows)
{
    struct pg_seen shown = {.epoch = (uint64_t)pg_number(rows, 0, 6),
                            .batch = (uint64_t)pg_number(rows, 0, 7)};
    engine->leaps = pg_number(rows, 0, 9) > 0;
    if (shown.epoch < seen->epoch || shown.batch < seen->batch ||
        pg_number(rows, 0, 11) > 0) {
        pg_nodes_note_lost(engine, &engine->conn);
        return true;
    }
    copy_text(shown.id, sizeof shown.id, pg_bytes(rows, 0, 10));
    pg_nodes_shown(engine, &shown);
    return pg_number(rows, 0, 8) > 0;
}

/* Returns whether this node has just stepped down, so that another one should
 * become active if there is one. */
static bool defers(const struct pg_engine *engine,
                   const struct kx_holder *holder, const PGresult *rows)
{
    return pg_number(rows, 0, 5) > 0 &&
           strcmp(holder->node, engine->node) == 0 &&
           kx_monotonic_ns() <
               engine->joined_ns + (uint64_t)KX_LEASE_MS * KX_MS_NS;
}

static enum kx_status read_lease(struct pg_engine *engine,
                                 const struct pg_seen *seen,
                                 const PGresult *rows, struct kx_holder *holder)
{
    int64_t until_ms = pg_number(rows, 0, 1);
    bool ended = pg_number(rows, 0, 2) != 0;
    if (engine->first_until_ms == 0)
        engine->first_until_ms = until_ms;
    holder->epoch = (uint64_t)pg_number(rows, 0, 0);
    copy_text(holder->node, sizeof holder->node, pg_bytes(rows, 0, 3));
    copy_text(holder->address, sizeof holder->address, pg_bytes(rows, 0, 4));
    holder->lost = look_for_loss(engine, seen, rows);
    holder->alive =
        !ended && !holder->lost && until_ms != engine->first_until_ms;
    return ended && !holder->lost && !defers(engine, holder, rows) ? KX_OK
                                                                   : KX_IN_USE;
}

/* The settings may change by a reload, while connections last. */
static enum kx_status judge_settings(const PGresult *rows, int column,
                                     struct kx_fault *fault)
{
    struct kx_slice why = pg_bytes(rows, 0, column);
    return why.size == 0 ? KX_OK
                         : kx_fail(fault, KX_UNREACHABLE, "the database: %.*s",
                                   (int)why.size, (const char *)why.data);
}

/* KX_OK: the lease has expired, and this node may take it. KX_IN_USE: it may
 * not. */
static enum kx_status look(struct pg_engine *engine, struct kx_holder *holder)
{
    struct pg_conn *conn = &engine->conn;
    struct pg_seen seen = pg_nodes_seen(engine);
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    pg_params_number(&params, (int64_t)seen.batch);
    pg_params_bytes(&params, kx_text(seen.id));
    if (!pg_conn_text(conn, pg_sql_look, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_ABSENT || (status == KX_OK && PQntuples(rows) != 1))
        status = kx_fail(&conn->fault, KX_BAD_DIRECTORY,
                         "the table kindex.lease is missing or empty");
    if (status == KX_OK)
        status = judge_format(pg_number(rows, 0, 14), false, &conn->fault);
    if (status == KX_OK)
        status = judge_settings(rows, 15, &conn->fault);
    if (status == KX_OK) {
        follow_clock(rows, 12);
        status = read_lease(engine, &seen, rows, holder);
    }
    PQclear(rows);
    return status;
}

static void name_self(const struct pg_engine *engine, struct kx_holder *holder)
{
    copy_text(holder->node, sizeof holder->node, kx_text(engine->node));
    copy_text(holder->address, sizeof holder->address,
              kx_text(engine->address));
    holder->epoch = atomic_load(&engine->epoch);
    holder->alive = true;
}

enum kx_status pg_lease_take(struct pg_engine *engine,
                             struct kx_holder *holder_out,
                             struct kx_fault *fault)
{
    struct pg_conn *conn = &engine->conn;
    uint64_t batch = 0;
    *holder_out = (struct kx_holder){.alive = false};
    enum kx_status status = connect_keeper(engine, fault);
    if (status != KX_OK)
        return status;
    status = look(engine, holder_out);
    if (status == KX_OK)
        status = hold(engine, conn, pg_server_take, &batch);
    if (status == KX_OK) {
        pg_nodes_saw(engine, atomic_load(&engine->epoch), batch, NULL);
        atomic_store(&engine->batch, batch);
        name_self(engine, holder_out);
        return pg_conn_prepare(conn, fault);
    }
    if (status == KX_IN_USE)
        pg_nodes_beat(engine, &engine->keeper->conn,
                      holder_out->lost ? "lost" : "standby");
    if (status == KX_IN_USE || status == KX_ABSENT || status == KX_AGAIN)
        return kx_fail(fault, KX_IN_USE,
                       "the store in this database is in use by another "
                       "kindex; stop that one first");
    *fault = conn->fault;
    return status;
}

/* ---- Keeping ------------------------------------------------------------ */

static enum kx_status fail_for_good(struct pg_engine *engine, const char *why,
                                    struct kx_fault *fault)
{
    if (!atomic_exchange(&engine->failed, true))
        kx_log(KX_LOG_ERROR, "database", "detail=\"%s\"", why);
    return kx_fail(fault, KX_FAILED, "%s", why);
}

void pg_lease_lost(struct pg_engine *engine, struct pg_conn *conn)
{
    pg_nodes_note_lost(engine, conn);
    fail_for_good(engine, "another kindex has taken the store over", NULL);
}

/* Finds out whether the database was replaced by one that lacks batches of this
 * process. */
static void find_loss(struct pg_engine *engine, struct pg_conn *conn)
{
    pg_nodes_note_lost(engine, conn);
    fail_for_good(engine, "the database lacks commits that were acknowledged",
                  NULL);
}

/* Without safe settings this process applies nothing, and lets the lease expire
 * for its readers. */
static bool is_safe(struct pg_engine *engine, struct pg_conn *conn,
                    const PGresult *rows)
{
    bool safe = judge_settings(rows, 3, &conn->fault) == KX_OK;
    if (atomic_exchange(&engine->unsafe, !safe) == safe)
        kx_log(safe ? KX_LOG_INFO : KX_LOG_ERROR, "database", "detail=\"%s\"",
               safe ? "its settings are safe again" : conn->fault.detail);
    return safe;
}

/* A batch that is applied meanwhile only raises the number in the database. */
static void pg_lease_renew(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    pg_conn_follow(conn);
    if (pg_conn_open(conn, NULL) != KX_OK)
        return;
    look_for_wait(engine, conn);
    pg_params_bytes(&params, kx_text(engine->holder));
    pg_params_number(&params, KX_LEASE_MS);
    uint64_t sent_ns = now_ns();
    uint64_t batch = atomic_load(&engine->batch);
    if (!pg_conn_text(conn, pg_sql_renew, &params) ||
        pg_conn_finish(conn, &rows) != KX_OK)
        return;
    if (PQntuples(rows) != 1)
        pg_lease_lost(engine, conn);
    else if ((uint64_t)pg_number(rows, 0, 0) < batch)
        find_loss(engine, conn);
    else if (is_safe(engine, conn, rows)) {
        note_renewal(engine, sent_ns);
        follow_clock(rows, 1);
    }
    PQclear(rows);
}

/* The state of the batch that was sent, according to the table log. */
enum batch_trace {
    NOT_APPLIED,
    APPLIED,
    FORGOTTEN /* later batches exist, and its row was removed */
};

static enum kx_status look_in_log(const struct pg_engine *engine,
                                  struct pg_conn *conn,
                                  enum batch_trace *trace_out)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    int64_t number = (int64_t)atomic_load(&engine->batch) + 1;
    pg_params_number(&params, number);
    if (!pg_conn_text(conn, pg_sql_find_batch, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    bool found = status == KX_OK && PQntuples(rows) == 1;
    *trace_out = NOT_APPLIED;
    if (found && pg_number(rows, 0, 0) != number)
        *trace_out = FORGOTTEN;
    else if (found && strcmp(PQgetvalue(rows, 0, 1), engine->id) == 0)
        *trace_out = APPLIED;
    PQclear(rows);
    return status;
}

/* A batch in the log counts once a later commit is on the synchronous standby.
 */
static enum kx_status resolve_sent(struct pg_engine *engine,
                                   struct pg_conn *conn)
{
    enum batch_trace trace;
    enum kx_status status = look_in_log(engine, conn, &trace);
    if (status == KX_OK && trace == APPLIED)
        status = pg_nodes_confirm(engine, conn);
    if (status != KX_OK)
        return status;
    if (trace == APPLIED)
        pg_nodes_applied(engine);
    engine->outcome = trace == FORGOTTEN ? PG_GIVEN_UP : PG_SETTLED;
    return KX_OK;
}

/* The new holder has waited for the batch that was sent, so it is in the log or
 * never will be, unless that holder has already removed it from the log. */
static enum kx_status resolve_lost(struct pg_engine *engine,
                                   struct pg_conn *conn, struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    if (engine->outcome == PG_SENT)
        status = resolve_sent(engine, conn);
    if (status != KX_OK)
        return status;
    pg_lease_lost(engine, conn);
    return kx_fail(fault, KX_FAILED, "the lease was lost");
}

/* Checks, with the lease under a new epoch, that the database has the batches
 * of this process. */
static enum kx_status compare_batches(struct pg_engine *engine,
                                      struct pg_conn *conn, uint64_t batch,
                                      struct kx_fault *fault)
{
    enum batch_trace trace = NOT_APPLIED;
    if (batch != engine->batch && engine->outcome != PG_SETTLED) {
        enum kx_status status = look_in_log(engine, conn, &trace);
        if (status != KX_OK)
            return status;
    }
    if (trace == APPLIED && engine->outcome == PG_GIVEN_UP)
        return fail_for_good(engine,
                             "a batch whose outcome was unknown is applied, "
                             "and has to be read from the database",
                             fault);
    if (batch < engine->batch)
        find_loss(engine, conn);
    if (batch != engine->batch + (trace == APPLIED))
        return fail_for_good(engine,
                             "the database has other batches than this kindex "
                             "has applied",
                             fault);
    return KX_OK;
}

enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault)
{
    struct pg_engine *engine = context;
    uint64_t batch = 0;
    enum kx_status status = hold(engine, conn, pg_server_resume, &batch);
    if (status == KX_ABSENT)
        return resolve_lost(engine, conn, fault);
    if (status == KX_OK)
        status = compare_batches(engine, conn, batch, fault);
    if (status != KX_OK)
        return status;
    if (batch != engine->batch)
        pg_nodes_applied(engine);
    pg_nodes_saw(engine, atomic_load(&engine->epoch), batch, NULL);
    engine->outcome = PG_SETTLED;
    return pg_conn_prepare(conn, fault);
}

void pg_lease_release(struct pg_engine *engine)
{
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->holder));
    pg_params_bytes(&params, kx_text(engine->stepping_down ? PG_STEPPED_DOWN
                                                           : engine->holder));
    if (pg_conn_text(&engine->conn, pg_sql_release, &params))
        (void)pg_conn_finish(&engine->conn, NULL);
}

/* Waits between two renewals, by the monotonic clock. */

enum { RENEW_MS = 500 };

/* Returns false if the thread should end. */
static bool wait_for_next(struct pg_keeper *keeper)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)RENEW_MS * KX_MS_NS;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->stop &&
           cond_wait_until(&keeper->stopped, &keeper->lock, until_ns))
        ;
    bool stop = keeper->stop;
    pthread_mutex_unlock(&keeper->lock);
    return !stop;
}

static void *run(void *argument)
{
    struct pg_keeper *keeper = argument;
    pthread_setname_np(pthread_self(), "lease");
    while (wait_for_next(keeper) && !atomic_load(&keeper->engine->failed)) {
        pg_lease_renew(keeper->engine, &keeper->conn);
        pg_nodes_beat(keeper->engine, &keeper->conn, "active");
        pg_nodes_read_load(keeper->engine, &keeper->conn);
    }
    return NULL;
}

static int finish_keeper(struct pg_keeper *keeper)
{
    pg_keeper_stop(keeper);
    pg_conn_close(&keeper->conn);
    pthread_cond_destroy(&keeper->stopped);
    pthread_mutex_destroy(&keeper->lock);
    return 0;
}

static struct pg_keeper *create_keeper(struct pg_engine *engine)
{
    struct pg_keeper *keeper = talloc_zero(engine, struct pg_keeper);
    if (keeper == NULL)
        return NULL;
    keeper->engine = engine;
    keeper->conn = (struct pg_conn){
        .target = &engine->target, .best = true, .patience_ms = KX_LEASE_MS};
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->stopped, NULL);
    talloc_set_destructor(keeper, finish_keeper);
    return keeper;
}

bool pg_lease_create(struct pg_engine *engine)
{
    engine->nodes = create_nodes(engine);
    engine->keeper = create_keeper(engine);
    return engine->nodes != NULL && engine->keeper != NULL;
}

bool pg_keeper_start(struct pg_keeper *keeper)
{
    keeper->runs = pthread_create(&keeper->thread, NULL, run, keeper) == 0;
    return keeper->runs;
}

void pg_keeper_stop(struct pg_keeper *keeper)
{
    if (keeper == NULL || !keeper->runs)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->stop = true;
    pthread_cond_signal(&keeper->stopped);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    keeper->runs = false;
}
