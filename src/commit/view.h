/* Keeps readers out while a batch is applied, and knows which keys are applied
 * but not on disk yet.
 *
 * A view (view_enter to view_leave) sees one state of the store. A batch is
 * applied while no view is open, then flushed while views are open. Until the
 * flush, a reply that shows one of the batch's keys must be kept back. A batch
 * of many rows is applied in slices, between which views get in: these see the
 * before image in place of the rows that are already in the tables.
 *
 * A peek (view_peek_begin to view_peek_end) sees only memory: the catalog
 * without its counts, the cache and the keys in flight. These change at the
 * very end (view_publish to view_apply_end), so until then a peek sees the
 * previous state, which is on disk. */
#ifndef VIEW_H
#define VIEW_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex/store.h"
#include "plan/overlay.h"
#include "engine/before_image.h"

struct view {
    pthread_rwlock_t lock;
    pthread_rwlock_t memory; /* of peeks; taken after `lock` */
    bool publishing;         /* the writer has `memory`; used by it alone */
    /* Tickets of callers that want a view and cannot wait for it, linked by
     * next. While views may be entered it is NULL, otherwise the list ends with
     * `closed`. */
    _Atomic(struct kx_ticket *) parked;
    struct kx_ticket closed;
    kx_answer_fn *answer; /* tells them that views may be entered */
    void *answer_context;
    atomic_uint retries;   /* callers that were told and have not retried yet */
    pthread_mutex_t tries; /* guards what follows */
    pthread_cond_t tried;  /* `retries` is 0 */
    pthread_cond_t opened; /* `openings` has grown */
    uint64_t openings;     /* that threads waited for (view_enter_until) */
    atomic_uint waiting;   /* these threads; changed inside */
    /* Changed under both locks, read under either. */
    uint64_t applied;              /* number of the last applied batch */
    _Atomic uint64_t flushed;      /* number of the last batch on disk */
    const struct net_change *keys; /* of the batch `applied`, in key order */
    size_t key_count;
    struct before_image before_image; /* of the batch that is being applied */
    atomic_bool requested; /* a view was, since the last view_apply_begin */
};

/* KX_OK or KX_NO_MEMORY. When views may be entered again, the writer calls
 * `answer` with the tickets that view_enter_or_park has parked, in the order of
 * their arrival. finish: no view may be open. */
enum kx_status view_init(struct view *view, kx_answer_fn *answer,
                         void *answer_context);
void view_finish(struct view *view);

/* Enters and leaves a view, on any thread but both on the same one. Waits while
 * a batch is being applied, never for a flush. A thread must have only one view
 * at a time: a second one could wait for a writer that waits for the first. */
void view_enter(struct view *view);
void view_leave(struct view *view);

/* Enters a view if that needs no waiting, else returns false. */
bool view_try_enter(struct view *view);

/* Enters a view, or returns false at until_ns (kx_monotonic_ns). Tries each
 * time that the writer lets views in, and the writer waits a moment for that
 * try as it does for parked callers. */
bool view_enter_until(struct view *view, uint64_t until_ns);

/* Enters a view if that needs no waiting. If not, returns false, and the ticket
 * is answered when the caller should retry. The caller then calls
 * view_parked_done() exactly once: after the retry, or when it gives up. The
 * writer waits a moment for that call before it keeps views out again, so that
 * parked callers get in between two batches or two slices. */
bool view_enter_or_park(struct view *view, struct kx_ticket *ticket);
void view_parked_done(struct view *view);

/* Begins and ends a peek. begin waits while a batch is published, which takes
 * some microseconds. If the batch changes more of the catalog than counts,
 * begin also waits while the batch is applied. try returns false instead of
 * waiting. */
void view_peek_begin(struct view *view);
bool view_peek_try(struct view *view);
void view_peek_end(struct view *view);

/* Inside a view or peek: returns the number of the flush to wait for if the
 * key, or any key of [start, end), is not on disk yet; else 0. An empty end
 * means no bound. */
uint64_t view_pending_key(const struct view *view, struct kx_slice key);
uint64_t view_pending_range(const struct view *view, struct kx_slice start,
                            struct kx_slice end);

/* The writer only. No view is open between begin and end, and no peek between
 * publish and end. begin waits for the open views; new ones wait until end. A
 * second publish does nothing. end must follow a publish; it publishes the
 * keys, in key order, which must live until the next end, and returns the
 * number of the batch. */
void view_apply_begin(struct view *view);
void view_publish(struct view *view);
uint64_t view_apply_end(struct view *view, const struct net_change *keys,
                        size_t count);
/* Drops the keys that the last end has published. The batch must be on disk.
 * Waits for the open views, as begin does. */
void view_forget_keys(struct view *view);
/* Called instead of end when nothing was applied. */
void view_apply_cancel(struct view *view);
/* Between begin and publish, when some rows of the batch are in the tables and
 * not committed: views that get in see the old values of these changes
 * (engine/before_image.h). The changes must live until end or cancel, which
 * removes the before image. */
void view_set_before_image(struct view *view, const struct net_change *changes,
                           size_t count);
/* Between two slices: open lets the waiting views in, close waits until they
 * have ended and keeps new ones out again. */
void view_open(struct view *view);
void view_close(struct view *view);
/* True if any thread has entered a view, or tried to, since begin. May miss a
 * thread that tries at this moment. */
bool view_was_requested(const struct view *view);
/* The batch and all before it are on disk, so replies that show them may be
 * sent. Called by the writer; view_is_flushed by any thread. */
void view_flushed(struct view *view, uint64_t batch);
bool view_is_flushed(struct view *view, uint64_t batch);

#endif
