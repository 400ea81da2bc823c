/* The handlers of the room, by file, for the table of routes (handler_fn in
 * request.h). */
#ifndef API_ENTRY_HANDLERS_H
#define API_ENTRY_HANDLERS_H

#include "http/request.h"

/* ---- kv.c: /kv/... and /kv?key= ---------------------------------------- */

/* GET and HEAD: the value as the body, ETag; 304, 404, 412. */
handler_fn kv_get;
/* PUT: the body is the value; 201 or 200, 412. */
handler_fn kv_put;
/* PATCH: RFC 7396 or, by media type, RFC 6902 on JSON values; creates a missing
 * entry. With ?ttl= and no body only the expiry changes; 404 without an entry.
 */
handler_fn kv_patch;
/* DELETE: 204 whether or not there was an entry; with Prefer:
 * return=representation 200 with the deleted entry, or 404. */
handler_fn kv_delete;
/* POST: stores the body under the given prefix and a new ULID; 201. */
handler_fn kv_create;

/* PUT /indexes/{name}/get/...: the body replaces the entry that has the value,
 * or is a new entry under ?new=; 200, 201, 404, 412. */
handler_fn kv_put_by;

/* ---- list_change.c ----------------------------------------------------- */

/* DELETE /list: removes up to `limit` entries of a range in one commit. */
handler_fn list_delete;
/* PATCH /list: does with up to `limit` entries of a range what kv_patch does
 * with one, in one commit. */
handler_fn list_patch;

/* ---- list.c, get_many.c ------------------------------------------------ */

/* GET /list: a page of entries, or all entries as NDJSON. */
handler_fn list_get;
/* POST /list: a page of several ranges. */
handler_fn list_post;
/* POST /get: many keys and ranges in one view. */
handler_fn get_many;

/* ---- explain.c --------------------------------------------------------- */

/* POST /explain: which index answers a query, and why others do not. */
handler_fn explain_list;

/* ---- watch.c ----------------------------------------------------------- */

/* GET /watch: server-sent events with changed entries. */
handler_fn watch_get;

#endif
