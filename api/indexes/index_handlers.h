/* The handlers of the room, by file, for the table of routes (handler_fn in
 * request.h). */
#ifndef API_INDEX_HANDLERS_H
#define API_INDEX_HANDLERS_H

#include "http/request.h"

/* ---- indexes.c, index_conflicts.c: /indexes ---------------------------- */

/* GET /indexes: all declarations and their states; as events, their changes;
 * or, with `declarations`, the body of a PUT that would change nothing. */
handler_fn index_list;
/* POST /indexes: declares an index; 201, 202 while it is built, 200 if the same
 * index was declared before. */
handler_fn index_declare;
/* GET /indexes/{name}: one declaration, its state and build progress. */
handler_fn index_show;
/* DELETE /indexes/{name}: 204. */
handler_fn index_drop;
/* GET /indexes/{name}/get/...: the entry a unique index points to. */
handler_fn index_get;
/* GET /indexes/{name}/conflicts: the groups of entries with the same value. */
handler_fn index_conflicts;

/* ---- index_set.c ------------------------------------------------------- */

/* PUT /indexes: declares and changes indexes and, with `prune`, drops indexes,
 * so that they match the body; 200, 202 while any of them is built. */
handler_fn index_declare_set;

/* ---- index_throttle.c -------------------------------------------------- */

/* POST /indexes/{name}/pause: stops background work on the index; 200. */
handler_fn index_pause;
/* POST /indexes/{name}/resume: continues background work. */
handler_fn index_resume;
/* POST /indexes/{name}/throttle: limits background work to a number of entries
 * a second. */
handler_fn index_throttle;

/* ---- index_migration.c ------------------------------------------------- */

/* PATCH /indexes/{name}: changes the declaration; 202 while the index migrates,
 * 200 if it already matches the patch. */
handler_fn index_migrate;
/* DELETE /indexes/{name}/migration: undoes the migration; the index keeps its
 * declaration. */
handler_fn index_undo_migration;

/* ---- index_verify.c ---------------------------------------------------- */

/* POST /indexes/{name}/verify: compares the index with its entries; 202 while
 * the comparison runs, 200 when it has ended. */
handler_fn index_verify;
/* GET /indexes/{name}/verify: the result of the last comparison. */
handler_fn index_verification;

/* ---- index_discover.c -------------------------------------------------- */

/* POST /indexes/discover: the indexes that an application keeps by hand, with
 * their declarations and faults. */
handler_fn index_discover;

/* rules.c: GET /rules, GET, PUT and DELETE /rules/{name}: declarations of
 * rules, also as a dry run, and their states. GET /rules/{name}/violations: the
 * stored entries that violate one. */
handler_fn rule_list;
handler_fn rule_show;
handler_fn rule_put;
handler_fn rule_drop;
handler_fn rule_violations;
/* GET /usage: the totals of rules with a quota. */
handler_fn usage_get;

#endif
