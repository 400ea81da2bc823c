/* The store: how it is opened and closed, and who is told when what is on disk.
 */
#ifndef KINDEX_STORE_H
#define KINDEX_STORE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* Something that waits for a flush: a commit, or a reply that shows entries
 * which are not on disk yet. It lies in the waiter's memory and must stay
 * there, untouched, until it is answered. */
struct kx_ticket {
    void *owner;            /* the waiter's own; not looked at */
    struct kx_ticket *next; /* the core's while waiting; then the next in the
                             * list given to the answer function */
    struct kx_watch *watch; /* the core's: where it was registered */
};

/* Called by the writer thread, once for each flush, with the list of all
 * tickets that it settled, in no certain order. From then on tickets and
 * commits are their owners' again. It must only hand them over; it must not
 * block, for all commits wait meanwhile. */
typedef void kx_answer_fn(void *context, struct kx_ticket *first);

/* How to open a store. The struct is copied; the directory's text is not, and
 * must live as long as the store. */
struct kx_options {
    const char *directory; /* made when missing, mode 0700, parents too */
    uint64_t cache_bytes;  /* half for pages, half for single records */
    size_t value_max;      /* bytes of one value */
    uint32_t queue_max;    /* commits that may wait for the writer */
    uint32_t checkpoint_seconds;
    uint32_t checkpoint_bytes; /* of log */
    /* NULL: none. Else a directory to which the log is copied and backups are
     * put, one after each interval, of which as many are kept; a damaged data
     * directory is restored from there. */
    const char *archive;
    int64_t archive_interval_ms;
    uint32_t archive_keep;
    bool unpaced; /* verifications take no heed of pauses and throttles: for
                   * one that somebody waits for */
    uint64_t disk_floor; /* bytes: with less than this free on the disk
                          * commits are refused (KX_DISK_FULL), and as
                          * much is kept in a file that is given up when
                          * half of it is gone; 0: neither */
    /* Files that the program may keep in the directory before there is a store
     * in it, ended by NULL, such as a token file; NULL: none. A directory that
     * has other files, and no store, is refused. Read by kx_open only. */
    const char *const *beside;
    kx_answer_fn *answer;
    void *answer_context;
};
/* Sensible values for everything but directory, beside and answer, which are
 * NULL. */
void kx_options_default(struct kx_options *options);

struct kx_store;
/* Opens or makes a store, recovers it, starts its threads. One process at a
 * time. KX_IN_USE, KX_BAD_DIRECTORY, KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED; the
 * directory is unchanged when it is in use. */
enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);
/* Refuses new commits, answers those that wait, writes a checkpoint and frees
 * the store. Readers must be closed before, and no other call be running or
 * come later. Returns when all is done. NULL is allowed. */
void kx_close(struct kx_store *store);

/* The store's own name among all stores: a UUID in lower case, made with it and
 * never changed. Valid until kx_close; any thread. */
const char *kx_store_id(const struct kx_store *store);

/* Has the storage failed for good? Then nothing is accepted any more, and the
 * process should end so that opening the store anew can recover it. Any thread.
 */
bool kx_store_failed(const struct kx_store *store);

#endif
