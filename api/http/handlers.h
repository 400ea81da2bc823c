/* The handlers of the table in routes.c, by file. A `_finish` half runs with
 * the result of the commit for which the first half asked. All follow
 * handler_fn in request.h: they run on the event loop's thread, never block,
 * and make every failure a problem reply. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "http/request.h"

/* ---- kv.c: /kv/... and /kv?key= ----------------------------------------- */

/* GET and HEAD: the value as the body, ETag; 304, 404, 412. */
handler_fn kv_get;
/* PUT: the body is the value; 201 or 200, 412. */
handler_fn kv_put;
/* PATCH: RFC 7396 on JSON values; creates a missing entry. */
handler_fn kv_patch;
/* Answers kv_put and kv_patch. */
handler_fn kv_write_finish;
/* DELETE: 204 whether or not there was an entry; with Prefer:
 * return=representation 200, and the reply tells which. */
handler_fn kv_delete;
/* Answers kv_delete. */
handler_fn kv_delete_finish;
/* POST: stores the body under the given prefix and a new ULID; 201. */
handler_fn kv_create;
/* Answers kv_create. */
handler_fn kv_create_finish;

/* ---- list.c, count.c, get_many.c -------------------------------------------
 */

/* GET /list: a page of entries, or all of them as NDJSON. */
handler_fn list_get;
/* DELETE /list: removes up to `limit` entries of a range in one commit. */
handler_fn list_delete;
/* Answers list_delete. */
handler_fn list_delete_finish;
/* GET /count: counts a range in slices. */
handler_fn list_count;
/* POST /get: many keys and ranges in one view. */
handler_fn get_many;

/* ---- explain.c ---------------------------------------------------------- */

/* POST /explain: which index answers a query, and why others do not. */
handler_fn explain_list;

/* ---- watch.c ------------------------------------------------------------ */

/* GET /watch: server-sent events, one for each change of some entries. */
handler_fn watch_get;

/* ---- atomic.c ----------------------------------------------------------- */

/* POST /atomic: checks and mutations, carried out together or not at all. */
handler_fn atomic_commit;
/* Answers atomic_commit. */
handler_fn atomic_commit_finish;

/* ---- indexes.c: /indexes ------------------------------------------------ */

/* GET /indexes: all declarations and their states. */
handler_fn index_list;
/* POST /indexes: declares an index; 201, 202 while it is built, 200 when the
 * same was declared before. */
handler_fn index_declare;
/* Answers index_declare. */
handler_fn index_declare_finish;
/* GET /indexes/{name}: one declaration, its state and build progress. */
handler_fn index_show;
/* DELETE /indexes/{name}: 204. */
handler_fn index_drop;
/* Answers index_drop. */
handler_fn index_drop_finish;
/* GET /indexes/{name}/get/...: the entry a unique index points to. */
handler_fn index_get;
/* GET /indexes/{name}/conflicts: the groups of entries with the same value. */
handler_fn index_conflicts;

/* ---- kvconnect_*.c: the protocol of Deno and @deno/kv ------------------- */

/* POST /: the protocol's version, the database's id and the data path's URL. */
handler_fn kvconnect_metadata;
/* POST /v2/snapshot_read: some ranges in one view. */
handler_fn kvconnect_read;
/* POST /v2/atomic_write: checks and mutations. */
handler_fn kvconnect_write;
/* Answers kvconnect_write. */
handler_fn kvconnect_write_finish;
/* POST /v2/watch: frames without an end. */
handler_fn kvconnect_watch;

/* ---- index_throttle.c
 * ------------------------------------------------------------- */

/* POST /indexes/{name}/pause: stops background work on the index; 200. */
handler_fn index_pause;
/* POST /indexes/{name}/resume: continues it. */
handler_fn index_resume;
/* POST /indexes/{name}/throttle: limits it to a number of entries a second. */
handler_fn index_throttle;
/* Answers all three with the index. */
handler_fn index_pace_finish;

/* ---- index_migration.c
 * -------------------------------------------------------- */

/* PATCH /indexes/{name}: changes `store` or `unique`; 202 while the index
 * migrates, 200 when it is as the patch says. */
handler_fn index_migrate;
/* Answers index_migrate. */
handler_fn index_migrate_finish;
/* DELETE /indexes/{name}/migration: cancels it; the index stays as it was. */
handler_fn index_undo_migration;
/* Answers index_undo_migration. */
handler_fn index_undo_migration_finish;

/* ---- index_verify.c
 * ----------------------------------------------------------- */

/* POST /indexes/{name}/verify: compares the index with its entries; 202 while
 * the comparison runs, 200 when it has ended. */
handler_fn index_verify;
/* Answers index_verify. */
handler_fn index_verify_finish;
/* GET /indexes/{name}/verify: the result of the last comparison. */
handler_fn index_verification;

/* ---- tokens.c ----------------------------------------------------------- */

/* GET /tokens: the tokens that the caller may see. */
handler_fn token_list;
/* POST /tokens: 201 with the new token, which is never shown again. */
handler_fn token_create;
/* Answers token_create. */
handler_fn token_create_finish;
/* GET /tokens/{id}. */
handler_fn token_show;
/* DELETE /tokens/{id}: revokes the token; 204. */
handler_fn token_revoke;
/* Answers token_revoke. */
handler_fn token_revoke_finish;

/* ---- slow_log.c -------------------------------------------------------------
 */

/* GET /slow: the last requests that took long, the newest first. */
handler_fn slow_log_list;

/* ---- ready.c ------------------------------------------------------------ */

/* GET /readyz: the store serves; ?verbose lists the checks. */
handler_fn ready_show;

/* ---- backup.c ----------------------------------------------------------- */

/* GET /backup: the whole store as a file that can be restored. */
handler_fn backup_get;

/* ---- ops.c -------------------------------------------------------------- */

/* GET /livez: 200 as long as the process answers. */
handler_fn ops_live;
/* GET /version. */
handler_fn ops_version;
/* GET /metrics: Prometheus text. */
handler_fn ops_metrics;
/* GET /openapi.json. */
handler_fn ops_openapi;
/* GET /openapi.yaml: the same bytes, as YAML, which JSON is. */
handler_fn ops_openapi_yaml;
/* GET /: name, version and links. */
handler_fn ops_service;
/* GET /problems/{code}: one row of the error table. */
handler_fn ops_problem;

#endif
