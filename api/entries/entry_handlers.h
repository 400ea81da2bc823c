/* Handlers of entries, by file. All follow handler_fn in request.h. */
#ifndef API_ENTRY_HANDLERS_H
#define API_ENTRY_HANDLERS_H

#include "http/request.h"

struct input_error;
struct query_params;

/* ---- kv.c: /kv/... and /kv?key= ---------------------------------------- */

/* GET and HEAD: the value as the body, ETag; 304, 404, 412. */
handler_fn kv_get;
/* PUT: the body is the value; 201 or 200, 412. */
handler_fn kv_put;
/* PATCH: RFC 7396 or, by media type, RFC 6902 on JSON values; creates a missing
 * entry. Without a body, but with ?ttl=, only the time of expiry changes; 404
 * without an entry. */
handler_fn kv_patch;
/* DELETE: 204 whether or not there was an entry; with Prefer:
 * return=representation 200 with what was there, or 404. */
handler_fn kv_delete;
/* POST: stores the body under the given prefix and a new ULID; 201. */
handler_fn kv_create;

/* What kv_by.c and list_change.c share. Reads ?ttl= into the mutation, of which
 * the type is set; false with the error. */
bool kv_read_ttl(const struct query_params *query, struct kx_mutation *mutation,
                 struct input_error *error);
/* Reads body and ?ttl= of a PATCH into the mutation: its type, value and time.
 * False with the error. */
bool kv_read_patch(const struct request *request,
                   const struct query_params *query,
                   struct kx_mutation *mutation, struct input_error *error);
/* Commits the one mutation under the request's conditions; with its entry if
 * the client prefers that. False: the reply is complete. */
bool kv_commit(struct request *request, struct reply *reply,
               struct kx_mutation *mutation);
/* Answers a PUT or PATCH of an entry after its commit. */
void kv_answer_write(struct request *request, struct reply *reply);

/* ---- kv_by.c: PUT /indexes/{name}/get/... ------------------------------- */

/* The body replaces the entry that has the value, or is a new entry under
 * ?new=; 200, 201, 404, 412. */
handler_fn kv_put_by;

/* ---- list_change.c ----------------------------------------------------- */

/* DELETE /list: removes up to `limit` entries of a range in one commit. */
handler_fn list_delete;
/* PATCH /list: does with up to `limit` entries of a range what kv_patch does
 * with one, in one commit. */
handler_fn list_patch;

/* ---- list.c, get_many.c ------------------------------------------------ */

/* GET /list: a page of entries, or all of them as NDJSON. */
handler_fn list_get;
/* POST /list: a page of several ranges. */
handler_fn list_post;
/* POST /get: many keys and ranges in one view. */
handler_fn get_many;

/* ---- explain.c --------------------------------------------------------- */

/* POST /explain: which index answers a query, and why others do not. */
handler_fn explain_list;

/* ---- watch.c ----------------------------------------------------------- */

/* GET /watch: server-sent events, one for each change of some entries. */
handler_fn watch_get;

#endif
