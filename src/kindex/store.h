/* The store: opening, closing, and notification when data are on disk. */
#ifndef KINDEX_STORE_H
#define KINDEX_STORE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* A registration for one answer: to a commit, to a reader that waits for a
 * flush or for the end of a batch, or to a watch. It lies in the caller's
 * memory and must stay there, unchanged, until it is answered or withdrawn. */
struct kx_ticket {
    void *owner;            /* for the caller; the core does not use it */
    struct kx_ticket *next; /* used by the core until the answer; then links the
                             * list given to the answer function */
    struct kx_watch *watch; /* used by the core: the watch, if any */
};

/* Called by the writer thread once after each flush, with the list of all
 * tickets that are now answered, in no particular order. From then on tickets
 * and commits belong to their owners again. The function must only hand the
 * tickets over and not block, because all commits wait meanwhile. */
typedef void kx_answer_fn(void *context, struct kx_ticket *first);

/* How to open a store. The struct is copied; its texts are not, and must stay
 * valid until kx_close. */
struct kx_options {
    const char *directory; /* created when missing, with parents, mode 0700 */
    /* NULL: the rows are in the directory. Otherwise the address of a
     * PostgreSQL database, postgresql://...; then directory, checkpoint_*,
     * recovery_us, archive_* and disk_floor are not used. */
    const char *engine;
    const char *engine_password_file; /* NULL: libpq finds the password */
    const char *node;      /* this process's name for other nodes; NULL: none */
    const char *advertise; /* address where other nodes reach it; NULL: none */
    bool engine_insecure;  /* the database may be reached without TLS that
                            * verifies it */
    uint64_t cache_bytes;  /* half for pages, half for single records */
    size_t value_max;      /* bytes of one value */
    uint64_t outcome_quota; /* bytes of the outcomes of one sender
                             * (kindex/idempotency.h) */
    uint32_t queue_max;     /* commits that may wait for the writer */
    uint32_t checkpoint_seconds;
    uint32_t checkpoint_bytes; /* bytes of log between checkpoints */
    uint64_t check_pages; /* pages checked at the start; the others are checked
                           * in the background. After damage all are checked at
                           * the start */
    uint32_t recovery_us; /* most CPU microseconds of a recovery: a
                           * checkpoint is written before it exceeds this */
    /* NULL, or a directory for an archive: the log is copied there, and a
     * backup is made after each interval; the last archive_keep backups are
     * kept. A damaged data directory is restored from the archive. */
    const char *archive;
    const struct kx_object_store *objects; /* of an archive, or one to follow,
                                            * that is not in a directory;
                                            * otherwise NULL */
    int64_t archive_interval_ms;
    uint32_t archive_keep;
    bool followed; /* the log also has the rows of each batch, for standbys
                    * that follow the archive */
    uint64_t fence_lease_ms; /* with `followed`: nothing is acknowledged or
                              * read when the archive has had no piece of the
                              * log for this long */
    bool archive_sync;       /* with `followed`: a commit is answered only when
                              * the archive has it */
    /* For kx_join only, without `engine` and `archive`: the archive of another
     * server. The directory becomes a copy of that server's data, and follows
     * its archive. NULL: none. */
    const char *follow;
    const char *primary; /* address of that server; NULL: unknown */
    uint64_t
        build_memory; /* bytes for index entries that a build gathers; larger
                       * amounts are sorted on disk: in the directory, or
                       * with `engine` in $TMPDIR or /var/tmp */
    bool unpaced;     /* verifications ignore pauses and throttles, for a caller
                       * that waits for the result */
    uint64_t disk_floor; /* bytes; 0: no limit. Commits fail (KX_DISK_FULL)
                          * unless this much and the log since the last
                          * checkpoint are free on the disk. A file of this size
                          * reserves space for recovery. It is removed when less
                          * than half of this is free; until it exists again,
                          * twice as much must be free */
    /* Names of files, with a NULL at the end, that may be in the directory
     * before it has a store, such as a token file; NULL: no names. A directory
     * that has other files and no store is rejected. Used by kx_open only. */
    const char *const *beside;
    kx_answer_fn *answer;
    void *answer_context;
};
/* Sets sensible values for all members except directory, beside and answer,
 * which become NULL. */
void kx_options_default(struct kx_options *options);

struct kx_store;
/* Opens or creates a store, recovers it, and starts its threads. Only one
 * process can have a store open; for a store in a database this waits some
 * seconds until the lease of another process expires (see kindex/node.h).
 * KX_OK, KX_IN_USE (the directory is unchanged), KX_BAD_DIRECTORY, KX_DAMAGED,
 * KX_UNREACHABLE, KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED; the fault says why. */
enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);
/* kx_close will follow: a commit that waits for its archive (archive_sync)
 * waits for a few seconds more, and the store fails if the archive cannot be
 * reached until then. Any thread. */
void kx_close_begin(struct kx_store *store);
/* Rejects new commits, answers the waiting ones, writes a checkpoint, frees the
 * store, and returns. Close all readers first. No other call on the store may
 * be running or follow. NULL is allowed. */
void kx_close(struct kx_store *store);

/* The store's identity: a UUID in lower case, made when the store was created
 * and never changed. Valid until kx_close. Any thread. */
const char *kx_store_id(const struct kx_store *store);

/* True if the storage has failed permanently. The store then accepts nothing,
 * and the process should end, so that opening the store again can recover it.
 * Any thread. */
bool kx_store_failed(const struct kx_store *store);

/* Returns whether the store has failed because another server was promoted or
 * writes to its archive. Any thread. */
bool kx_store_replaced(const struct kx_store *store);

#endif
