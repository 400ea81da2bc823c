/* Watches of keys and prefixes. The writer notes the changed keys, and the
 * tickets of their watches are answered with the next answers. The answer says
 * that something has changed, not what, so nothing has to be kept for a slow
 * reader. A watch of a prefix also collects the changed keys, but a bounded
 * number of them. */
#ifndef WATCH_H
#define WATCH_H

#include "engine/engine.h"
#include "kindex.h"

struct watch_set;

/* Under talloc context mem; no watch may be open when that is freed. The answer
 * function gets the tickets that a closed watch of jobs passes on. NULL when
 * memory ran out. */
struct watch_set *watch_set_create(void *mem, kx_answer_fn *answer,
                                   void *answer_context);

/* Some rows were applied: the watches of their keys will be answered. Any
 * thread; cheap while there are no watches. */
void watch_note(struct watch_set *set, const struct row_write *rows,
                size_t count);
/* The state of an index has changed, and with it the readable keys: all watches
 * will be answered. */
void watch_note_all(struct watch_set *set);

/* Returns the tickets to answer now, linked by next and followed by `list`. The
 * noted changes must be on disk. */
struct kx_ticket *watch_take(struct watch_set *set, struct kx_ticket *list);

/* kx_watch_open, kx_watch_open_prefix and kx_watch_cancel (kindex/watch.h). Any
 * thread. */
enum kx_status watch_open(struct watch_set *set, const struct kx_slice *keys,
                          size_t count, const void *memory,
                          struct kx_watch **watch_out);
enum kx_status watch_open_prefix(struct watch_set *set, struct kx_slice prefix,
                                 enum kx_watch_of of, const void *memory,
                                 struct kx_watch **watch_out);
bool watch_cancel(struct watch_set *set, struct kx_ticket *ticket);

/* Watches that are open now. Any thread. */
size_t watch_count(const struct watch_set *set);

#endif
