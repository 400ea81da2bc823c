/* Watches: waiting for changes of entries. */
#ifndef KINDEX_WATCH_H
#define KINDEX_WATCH_H

#include "kindex/store.h"

/* A watch waits until some entries may have changed: one was written or
 * removed, or has expired, or an index that may own the keys has become
 * readable or unreadable. A watch says that there is a change, not which one:
 * the caller then reads the keys in one view and compares versionstamps with
 * those of its last read. So a slow caller sees many commits as one change, and
 * no history is kept. */
struct kx_watch;

/* Watches the keys from now on; they are copied. The watch is allocated in
 * memory (a talloc context) and is closed when that is freed. KX_OK,
 * KX_NO_MEMORY. This and all functions below: any thread. One watch is used by
 * one thread at a time and is closed before kx_close. */
enum kx_status kx_watch_open(struct kx_store *store,
                             const struct kx_slice *keys, size_t count,
                             const void *memory, struct kx_watch **watch_out);
enum kx_watch_of {
    KX_WATCH_ANY,  /* that something has changed */
    KX_WATCH_KEYS, /* the changed keys are collected for kx_watch_take */
    KX_WATCH_JOBS  /* kx_watch_claimed */
};
/* Like kx_watch_open, for all keys that begin with the parts of the prefix (at
 * most KX_KEY_MAX bytes) and have more parts. */
enum kx_status kx_watch_open_prefix(struct kx_store *store,
                                    struct kx_slice prefix, enum kx_watch_of of,
                                    const void *memory,
                                    struct kx_watch **watch_out);
/* A watch of jobs has the name of a queue, and values of its leading fields, as
 * its prefix. Of several watches of one prefix, each job that becomes due
 * answers one: the one that has waited longest. Its owner claims, then calls
 * this function, and if it has no job kx_watch_wait. A watch that is closed
 * while a job is left to it answers another one in its place.
 *
 * more: the claim has left jobs that are due. next_due_ms: the time when the
 * next of the jobs that the claim has passed over is due; 0: it passed none.
 * Returns true if the owner must end its wait then by itself, because no other
 * watch does so. */
bool kx_watch_claimed(struct kx_watch *watch, bool more, int64_t next_due_ms);
/* Takes the collected keys, before the view that reads them begins:
 * keys[0..*count_out-1], at most KX_WATCH_CHANGES_MAX, in the order in which
 * they first changed. They lie in bytes, whose former contents are replaced.
 * False, with no keys: any entry under the prefix may have changed, because
 * there were more keys (or more than 256 KiB of them), an index has become
 * readable or is no longer readable, or memory ran out. */
bool kx_watch_take(struct kx_watch *watch, struct kx_slice *keys,
                   size_t *count_out, struct kx_buffer *bytes);
/* Closes the watch before its memory is freed. No ticket may be registered. */
void kx_watch_close(struct kx_watch *watch);
/* Registers a ticket for the next change after the last call (or since the
 * watch was opened). KX_OK: the answer function will be called with it, when
 * the change is on disk. KX_END: there has been a change already; the ticket is
 * not registered. Read the keys, then call again. At most one ticket at a time.
 */
enum kx_status kx_watch_wait(struct kx_watch *watch, struct kx_ticket *ticket);
/* Withdraws a ticket, which then will not be answered. False: it has been
 * answered or is about to be. */
bool kx_watch_cancel(struct kx_store *store, struct kx_ticket *ticket);

#endif
