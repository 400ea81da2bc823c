/* Commits: checks and mutations that hold together or not at all. What is said
 * to indexes and tokens is a commit, too.
 */
#ifndef KINDEX_COMMIT_H
#define KINDEX_COMMIT_H

#include "kindex/entry.h"
#include "kindex/store.h"

enum kx_condition {
    KX_IS_ABSENT,  /* there is no such entry */
    KX_IS_PRESENT, /* there is one */
    KX_IS_ONE_OF,  /* it is present with one of the stamps */
    KX_IS_NONE_OF  /* it is absent or has none of the stamps */
};

/* A condition on an entry, as it is before the commit's own mutations. */
struct kx_check {
    struct kx_slice key;
    enum kx_condition condition;
    const uint64_t *stamps; /* of the last two conditions */
    size_t stamp_count;
};

/* Does the check hold for an entry with this stamp (0: absent)? Any thread. */
bool kx_check_holds(const struct kx_check *check, uint64_t stamp);

enum kx_mutation_type {
    KX_SET,
    KX_DELETE,
    KX_SUM, /* KvU64 (wraps), number (JSON or V8) or bigint; a missing key
             * takes the operand */
    KX_MIN,
    KX_MAX,
    KX_PATCH,       /* RFC 7396 on JSON, or on V8 that JSON can carry (the
                     * result is JSON); a missing key takes the patch */
    KX_DELETE_RANGE /* key is the inclusive start, end the exclusive end;
                     * removes the first `limit` entries in order. Must be the
                     * commit's only mutation. */
};

/* One change. Mutations are carried out in order, each on what those before it
 * have left. A key that belongs to an index may be set or deleted only as the
 * index itself will have it after the commit. */
struct kx_mutation {
    enum kx_mutation_type type;
    struct kx_slice key;
    struct kx_value value;
    int64_t expires_at_ms; /* 0: the entry does not expire */
    bool suffix_stamp;     /* of KX_SET: the key gets one more part, the digits
                            * of the commit's versionstamp as a string */
    /* Of KX_SUM with a V8 operand: limits of the result, V8 of its type, or
     * empty; whether a limit then takes its place instead of KX_NUMBER_RANGE.
     */
    struct kx_slice sum_min;
    struct kx_slice sum_max;
    bool sum_clamp;
    struct kx_slice end; /* of KX_DELETE_RANGE */
    size_t limit;
};

/* One failed check: which, and what the entry's stamp is (0: absent). */
struct kx_failed_check {
    size_t check;
    uint64_t actual;
};

/* Why a commit was refused; which members are set depends on the status. What
 * they point to lies in the commit's memory. */
struct kx_refusal {
    struct kx_fault fault;
    struct kx_failed_check *checks; /* KX_CHECK_FAILED */
    size_t check_count;
    size_t mutation;                   /* number of the mutation concerned */
    char index[KX_INDEX_NAME_MAX + 1]; /* KX_UNIQUE_VIOLATION, _OWNED_KEY,
                                        * KX_NOT_INDEXABLE; of writes also
                                        * KX_INDEX_NOT_READY */
    struct kx_slice field; /* KX_NOT_INDEXABLE: JSON Pointer into the entry's
                            * value, empty when it is about the key */
    struct kx_slice index_value;  /* encoded field parts of the index key */
    struct kx_slice existing_key; /* the primary key that has the value */
    struct kx_slice attempted_key;
    bool held;             /* KX_INDEX_OWNED_KEY: the index will hold */
    struct kx_value holds; /* an entry, and this is its value */
};

enum kx_commit_kind {
    KX_WRITE,          /* checks and mutations */
    KX_DECLARE_INDEX,  /* `declaration`; pace.paused: not to be built yet */
    KX_DROP_INDEX,     /* `index_name` */
    KX_MIGRATE_INDEX,  /* `index_name`; `declaration` is a merge patch */
    KX_UNDO_MIGRATION, /* `index_name` */
    KX_PACE_INDEX,     /* `index_name`, `pace` */
    KX_VERIFY_INDEX,   /* `index_name`, `repair` */
    KX_ADD_TOKEN,      /* `token` */
    KX_REVOKE_TOKEN    /* `token_id`: watches and waits for news are told */
};

struct kx_token;

/* How fast background work on an index may go. Stored with the index. */
struct kx_pace {
    bool sets_paused;
    bool paused; /* not at all */
    bool sets_limit;
    uint32_t per_second; /* so many entries, 0: as fast as it goes */
};

/* What the rights to a mutation of the key were taken from: whether the key
 * belonged to an index when they were looked at. */
struct kx_claim {
    struct kx_slice key;
    bool of_index;
};

/* When a commit came how far, by kx_monotonic_ns; 0: it did not. */
struct kx_milestones {
    uint64_t submitted_ns;
    uint64_t begun_ns; /* its batch was */
    uint64_t planned_ns;
    uint64_t applied_ns;
    uint64_t flushed_ns;
};

/* A commit lies in the caller's memory, with everything it points to, from
 * kx_submit to its answer. All that the caller does not set must be zero. */
struct kx_commit {
    /* Set by the caller, unchanged until the answer. */
    enum kx_commit_kind kind;
    const struct kx_check *checks;
    size_t check_count;
    const struct kx_mutation *mutations;
    size_t mutation_count;
    const struct kx_claim *claims; /* each must hold when it is carried out:
                                    * else KX_BUSY */
    size_t claim_count;
    bool dry;                    /* find out the result, change nothing */
    struct kx_slice declaration; /* JSON text */
    struct kx_slice index_name;
    struct kx_pace pace;
    bool repair;                  /* of KX_VERIFY_INDEX: mend what is found */
    const struct kx_token *token; /* is copied */
    struct kx_slice token_id;
    void *memory; /* talloc context for results; no other
                   * thread may use it until the answer */
    struct kx_ticket ticket;
    struct kx_commit *next; /* the core's while waiting */
    /* Result. */
    enum kx_status status;
    uint64_t stamp;            /* of the commit, when KX_OK */
    struct kx_refusal refusal; /* otherwise */
    bool created;              /* the first mutation's key was absent, or
                                * the index was not declared before, or
                                * now migrates */
    struct kx_milestones times;
    size_t deleted;             /* KX_DELETE_RANGE: entries removed */
    bool more;                  /* and some are left */
    struct kx_preview *preview; /* of a dry KX_DECLARE_INDEX, in memory */
};

/* Hands a commit to the writer; never blocks on the disk. Any thread. KX_OK:
 * the answer function will be called with its ticket, once, when its result is
 * set and durable; commits of one thread are carried out in the order of their
 * submission. KX_BUSY (too many wait), KX_STOPPING, KX_DISK_FULL, KX_FAILED: it
 * was not taken and will not be answered. */
enum kx_status kx_submit(struct kx_store *store, struct kx_commit *commit);

/* The same for a thread that has nothing else to do: when the writer is idle,
 * and the commit cannot change so much that others would wait long, the
 * calling thread carries the commit out itself, flush included, and the
 * answer function is called before this returns. Saves waking two threads,
 * which takes as long as the flush. */
enum kx_status kx_submit_alone(struct kx_store *store,
                               struct kx_commit *commit);

/* From kx_feed to kx_rest the calling thread has work at hand that may bring
 * more commits: the writer may wait half a millisecond for them before it
 * begins with a small batch. They come in pairs; a thread that never calls them
 * is never waited for. Any thread. */
void kx_feed(struct kx_store *store);
void kx_rest(struct kx_store *store);

#endif
