/* Who waits for which keys. The writer notes what it has changed, and the
 * tickets of those who wait for it go out with the next answers. They are told
 * that something has changed, not what, so nothing has to be kept for a slow
 * one; a watch of a prefix collects the changed keys, but not too many of them
 * (dirty_keys.h).
 */
#ifndef WATCH_H
#define WATCH_H

#include "bdb/txn.h"

struct watch_set;
struct batch;

/* Under talloc context mem; no watch may be open when that is freed. NULL when
 * memory ran out. */
struct watch_set *watch_set_create(void *mem);

/* Some rows were applied: those who watch one of their keys will be told. Any
 * thread; cheap while nobody watches anything. */
void watch_note(struct watch_set *set, const struct txn_write *rows,
                size_t count);
/* The state of an index has changed, and with it what can be read: everybody
 * will be told. */
void watch_note_all(struct watch_set *set);
/* A batch was applied, as these rows: one of the two, as needed. before: the
 * state that its index had. */
void watch_batch(struct watch_set *set, const struct batch *batch,
                 enum kx_index_state before, const struct txn_write *rows,
                 size_t count);

/* The tickets of those who are to be told now, linked by next, in front of
 * `list`. What was noted since is on disk. */
struct kx_ticket *watch_take(struct watch_set *set, struct kx_ticket *list);

/* Watches that are open now. Any thread. */
size_t watch_count(const struct watch_set *set);

#endif
