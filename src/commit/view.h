/* Keeps readers and the applying of a batch apart, and knows which keys are
 * applied but not on disk yet.
 *
 * A view (view_enter to view_leave) sees one state of the store. A batch is
 * applied while no view is open, then flushed while views are open. Until it is
 * flushed, a reply that shows one of its keys must be kept back. A batch of
 * many rows is applied in slices, between which views get in: in place of the
 * rows that are already in the tables they see the before image.
 *
 * A glance (view_glance_begin to view_glance_end) sees only memory: the catalog
 * without its counts, the cache and the keys in flight. These change at the
 * very end of the applying (view_publish to view_apply_end), so until then a
 * glance sees the previous state, which is on disk. */
#ifndef VIEW_H
#define VIEW_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex/store.h"
#include "plan/overlay.h"
#include "engine/before_image.h"

struct view {
    pthread_rwlock_t lock;
    pthread_rwlock_t memory; /* of glances; taken after `lock` */
    bool publishing;         /* the writer has `memory`; its own */
    /* Tickets of callers that want a view and cannot wait for it, linked by
     * next. NULL: views may be entered; `closed` ends the list while they may
     * not. */
    _Atomic(struct kx_ticket *) parked;
    struct kx_ticket closed;
    kx_answer_fn *answer; /* tells them that views may be entered */
    void *answer_context;
    atomic_uint owed;      /* answered ones that have not tried again */
    pthread_mutex_t tries; /* guards what follows */
    pthread_cond_t tried;  /* `owed` is 0 */
    pthread_cond_t opened; /* `openings` has grown */
    uint64_t openings;     /* that threads waited for (view_enter_until) */
    atomic_uint waiting;   /* these threads; changed inside */
    /* Changed under both locks, read under either. */
    uint64_t applied;              /* number of the last applied batch */
    _Atomic uint64_t flushed;      /* number of the last batch on disk */
    const struct net_change *keys; /* of the batch `applied`, in key order */
    size_t key_count;
    struct before_image before_image; /* of the batch that is being applied */
    atomic_bool sought; /* a view, since the last view_apply_begin */
};

/* KX_OK or KX_NO_MEMORY. answer: called by the writer, when views may be
 * entered again, with the tickets that view_enter_or_park has parked, in the
 * order in which they came. finish: no view may be open. */
enum kx_status view_init(struct view *view, kx_answer_fn *answer,
                         void *answer_context);
void view_finish(struct view *view);

/* A view, on any thread; leave on the same one. Waits while a batch is being
 * applied, never for a flush. A thread has one view at a time: a second one
 * inside it could wait for a writer that waits for the first. */
void view_enter(struct view *view);
void view_leave(struct view *view);

/* Enters a view if that needs no waiting, else returns false. */
bool view_try_enter(struct view *view);

/* The same, but waits until then (kx_monotonic_ns) before it returns false.
 * Each opening between two batches is tried, and the writer waits a moment for
 * that as for parked callers. */
bool view_enter_until(struct view *view, uint64_t until_ns);

/* As view_try_enter. If false, the ticket will be answered when another try is
 * worth it. After that try, or when no try will follow, view_tried is called
 * once. The writer waits a moment for that before it keeps views out again, so
 * that parked callers get in between two batches, or two slices of one. */
bool view_enter_or_park(struct view *view, struct kx_ticket *ticket);
void view_tried(struct view *view);

/* Waits while a batch is published, which takes some microseconds, but for a
 * batch that changes more of the catalog than its counts also while it is
 * applied. try: does not wait, but returns false. */
void view_glance_begin(struct view *view);
bool view_glance_try(struct view *view);
void view_glance_end(struct view *view);

/* Inside a view or glance: the number of the flush to wait for when the key, or
 * any key of [start, end), is not on disk yet; else 0. An empty end means no
 * bound. */
uint64_t view_pending_key(const struct view *view, struct kx_slice key);
uint64_t view_pending_range(const struct view *view, struct kx_slice start,
                            struct kx_slice end);

/* The writer only: no view is open between begin and end, and no glance between
 * publish and end. begin waits for the open views; new ones wait until end. A
 * second publish does nothing. end needs a publish before it. It publishes the
 * keys, in key order, which must live until the next end, and gives the batch
 * its number. */
void view_apply_begin(struct view *view);
void view_publish(struct view *view);
uint64_t view_apply_end(struct view *view, const struct net_change *keys,
                        size_t count);
/* The keys that the last end has published are no longer pointed to. The batch
 * must be on disk. Waits for the open views, as begin does. */
void view_forget_keys(struct view *view);
/* Instead of end, when nothing was applied. */
void view_apply_cancel(struct view *view);
/* Between begin and publish, for a batch some of whose rows are in the tables
 * and not committed: views that get in see these keys as the before image has
 * them (engine/before_image.h). The changes must live until end or cancel,
 * which removes the before image. */
void view_cast(struct view *view, const struct net_change *changes,
               size_t count);
/* Between two slices of it: open lets the waiting views in, close waits until
 * these have ended and keeps new ones out again. */
void view_open(struct view *view);
void view_close(struct view *view);
/* Was a view sought since begin? A caller that asks at this very moment may be
 * missed. */
bool view_sought(const struct view *view);
/* The batch is on disk, and all before it: replies that show it may be sent.
 * Called by the writer; is_flushed by any thread. */
void view_flushed(struct view *view, uint64_t batch);
bool view_is_flushed(struct view *view, uint64_t batch);

#endif
