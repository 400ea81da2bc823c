/* Watches: who waits for a change of some entries. */
#ifndef KINDEX_WATCH_H
#define KINDEX_WATCH_H

#include "kindex/store.h"

/* Waiting until some entries may have changed: until one was written, removed
 * or has expired, or an index, whose entries they may be, can be read or no
 * longer. A watch says that there is a change, not which: whoever is told reads
 * the keys in one view and compares versionstamps with what it has seen. So
 * many commits are one change for who is slow, and nothing is kept for it. */
struct kx_watch;

/* Watches the keys from now on; they are copied. The watch belongs to memory (a
 * talloc context) and is closed when that is freed. KX_OK, KX_NO_MEMORY. Any
 * thread, as all of these; one watch is used by one thread at a time, and gone
 * before kx_close. */
enum kx_status kx_watch_open(struct kx_store *store,
                             const struct kx_slice *keys, size_t count,
                             const void *memory, struct kx_watch **watch_out);
/* The same for all keys that begin with the parts of the prefix (at most
 * KX_KEY_MAX bytes) and have more. Which of them have changed is collected, for
 * kx_watch_take. */
enum kx_status kx_watch_open_prefix(struct kx_store *store,
                                    struct kx_slice prefix, const void *memory,
                                    struct kx_watch **watch_out);
/* Takes out what has been collected, before a view is begun that reads it:
 * keys[0..*count_out-1], at most KX_WATCH_CHANGES_MAX, in the order in which
 * they first changed. They lie in bytes, whose former contents are replaced.
 * False, with none: there were more than that (or of more than 256 KiB), an
 * index can be read or no longer, or memory ran out, so anything under the
 * prefix may have changed. */
bool kx_watch_take(struct kx_watch *watch, struct kx_slice *keys,
                   size_t *count_out, struct kx_buffer *bytes);
/* Closes it before its memory is freed. No ticket may be registered. */
void kx_watch_close(struct kx_watch *watch);
/* Registers a ticket for the next change after the last call (or since the
 * watch was opened). KX_OK: the answer function will be called with it, when
 * what has changed is on disk. KX_END: there is a change already, and the
 * ticket is not taken: read, and call again. At most one ticket at a time. */
enum kx_status kx_watch_wait(struct kx_watch *watch, struct kx_ticket *ticket);
/* Takes a ticket back: it is not answered any more. False: it is answered or
 * just about to be. */
bool kx_watch_cancel(struct kx_store *store, struct kx_ticket *ticket);

#endif
