/* The store: opening, closing, and notification when data are on disk. */
#ifndef KINDEX_STORE_H
#define KINDEX_STORE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* A registration for one answer: to a commit, to a reader that waits for a
 * flush or for the end of a batch, to a watch. It lies in the caller's memory
 * and must stay there, unchanged, until it is answered or withdrawn. */
struct kx_ticket {
    void *owner;            /* for the caller; the core does not use it */
    struct kx_ticket *next; /* used by the core until the answer; then the next
                             * in the list given to the answer function */
    struct kx_watch *watch; /* used by the core: where it was registered */
};

/* Called by the writer thread, once for each flush, with the list of all
 * tickets that it settled, in no certain order. From then on tickets and
 * commits are their owners' again. It must only hand them over; it must not
 * block, for all commits wait meanwhile. */
typedef void kx_answer_fn(void *context, struct kx_ticket *first);

/* How to open a store. The struct is copied; the text of `directory` is not and
 * must stay valid until kx_close. */
struct kx_options {
    const char *directory; /* created when missing, with parents, mode 0700 */
    /* NULL: the rows are in the directory. Else the address of a
     * PostgreSQL database, postgresql://..., and the directory is not used; nor
     * are checkpoint_*, recovery_us, archive_* and disk_floor. */
    const char *engine;
    const char *engine_password_file; /* NULL: libpq finds the password */
    const char *node;      /* this process's name for others; NULL: none */
    const char *advertise; /* the address where they reach it; NULL: none */
    bool engine_insecure;  /* the database may be reached without TLS that
                            * verifies it */
    uint64_t cache_bytes;  /* half for pages, half for single records */
    size_t value_max;      /* bytes of one value */
    uint32_t queue_max;    /* commits that may wait for the writer */
    uint32_t checkpoint_seconds;
    uint32_t checkpoint_bytes; /* bytes of log between checkpoints */
    uint64_t check_pages;      /* that the start checks; the others are checked
                                * in the background. All, if damage was found */
    uint32_t recovery_us;      /* processor time that a recovery may cost: a
                                * checkpoint is written before */
    /* NULL, or a directory for an archive: the log is copied there, and a
     * backup is made after each interval; the last archive_keep backups are
     * kept. A damaged data directory is restored from the archive. */
    const char *archive;
    const struct kx_object_store *objects; /* of the archive, if it is in no
                                            * directory; else NULL */
    int64_t archive_interval_ms;
    uint32_t archive_keep;
    uint64_t build_memory; /* bytes for index entries that a build gathers; more
                            * of them are sorted on disk: in the directory, or
                            * with `engine` in $TMPDIR, or /var/tmp */
    bool unpaced; /* verifications ignore pauses and throttles, for a caller
                   * that waits for the result */
    uint64_t disk_floor; /* bytes: commits are refused (KX_DISK_FULL) while
                          * less than this, and the log since the last
                          * checkpoint, is free on the disk. A file of this
                          * size reserves space for recovery; it is removed
                          * when less than half of this is free, and until
                          * it is there again twice as much must be free. 0:
                          * neither */
    /* Names of files, ended by NULL, that may be in the directory before there
     * is a store in it, such as a token file; NULL: none. A directory that has
     * other files and no store is refused. Used by kx_open only. */
    const char *const *beside;
    kx_answer_fn *answer;
    void *answer_context;
};
/* Sensible values for everything but directory, beside and answer, which are
 * NULL. */
void kx_options_default(struct kx_options *options);

struct kx_store;
/* Opens or creates a store, recovers it, starts its threads. Only one process
 * can have a store open; for one in a database this waits until the lease of
 * another process has ended, for some seconds (see kindex/node.h). KX_OK,
 * KX_IN_USE (the directory is unchanged), KX_BAD_DIRECTORY, KX_UNREACHABLE,
 * KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);
/* Refuses new commits, answers the waiting ones, writes a checkpoint and frees
 * the store; returns after that. Readers must have been closed. No other call
 * on the store may be running or follow. NULL is allowed. */
void kx_close(struct kx_store *store);

/* The store's identity: a UUID in lower case, made when the store was created
 * and never changed. Valid until kx_close. Any thread. */
const char *kx_store_id(const struct kx_store *store);

/* True if the storage has failed permanently. The store then accepts nothing,
 * and the process should end, so that opening the store again can recover it.
 * Any thread. */
bool kx_store_failed(const struct kx_store *store);

#endif
