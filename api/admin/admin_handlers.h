/* The handlers of the room, by file, for the table of routes (handler_fn in
 * request.h). */
#ifndef API_ADMIN_HANDLERS_H
#define API_ADMIN_HANDLERS_H

#include "http/request.h"

/* ---- ops.c ------------------------------------------------------------- */

/* GET /livez: 200 as long as the process answers. */
handler_fn ops_live;
/* GET /version. */
handler_fn ops_version;
/* GET /metrics: Prometheus text. */
handler_fn ops_metrics;
/* GET /openapi.json. */
handler_fn ops_openapi;
/* GET /openapi.yaml: the same document as YAML, with its comments. */
handler_fn ops_openapi_yaml;
/* GET /: name, version and links. */
handler_fn ops_service;
/* GET /problems/{code}: one row of the error table. */
handler_fn ops_problem;

/* ---- history.c --------------------------------------------------------- */

/* GET /metrics/history: metrics over time, as columns. */
handler_fn history_show;

/* ---- ready.c ----------------------------------------------------------- */

/* GET /readyz: 200 if the server is ready; ?verbose lists the checks. */
handler_fn ready_show;

/* ---- tokens.c ---------------------------------------------------------- */

/* GET /tokens: the tokens that the caller may see. */
handler_fn token_list;
/* POST /tokens: 201 with the new token, which is never shown again. */
handler_fn token_create;
/* GET /tokens/self: the token of the request, and whether one is needed. */
handler_fn token_self;
/* GET /tokens/{id}. */
handler_fn token_show;
/* DELETE /tokens/{id}: revokes the token; 204. */
handler_fn token_revoke;

/* ---- slow_requests.c --------------------------------------------------- */

/* GET /slow: the last slow requests, newest first. */
handler_fn slow_requests_list;

/* ---- cluster.c --------------------------------------------------------- */

/* GET /cluster: the nodes in front of the database, and their state. */
handler_fn cluster_show;
/* POST /cluster/step-down: releases the lease, so that another node becomes
 * active. */
handler_fn cluster_step_down;
/* POST /promote: makes a standby that follows an archive the server. */
handler_fn promote_begin;

/* ---- backup.c ---------------------------------------------------------- */

/* GET /backup: the whole store as a file for kindex restore. */
handler_fn backup_get;
/* POST /backup/tickets: 201 with an address for one download. */
handler_fn backup_ticket_create;
/* GET /backup/tickets/{ticket}: the backup, without a token. */
handler_fn backup_by_ticket;

#endif
