/* Commits: checks and mutations, applied atomically. Commands for indexes and
 * tokens are commits, too.
 */
#ifndef KINDEX_COMMIT_H
#define KINDEX_COMMIT_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "kindex/entry.h"
#include "kindex/idempotency.h"
#include "kindex/store.h"

enum kx_condition {
    KX_IS_ABSENT,     /* the entry is absent */
    KX_IS_PRESENT,    /* the entry is present */
    KX_IS_ONE_OF,     /* it is present with one of the stamps */
    KX_IS_NONE_OF,    /* it is absent, or present with none of the stamps */
    KX_IS_AT_MOST,    /* it is absent, or its stamp is at most stamps[0] */
    KX_MEETS,         /* it is present, and its value meets `where` */
    KX_RANGE_EMPTY,   /* no entry is in the range */
    KX_RANGE_AT_MOST, /* no entry in the range has a stamp above stamps[0]; an
                       * entry that was removed has left no stamp */
    KX_RANGE_IS       /* the first `limit` entries of the range, with `reverse`
                       * from its end, have this digest (kx_digest_entry) */
};

/* Conditions on a value, as an index declares them in `where`. Immutable. */
struct kx_where;
/* Reads a condition such as {"path":"/stock","ge":5}, or an array of them,
 * which kx_json_check has accepted, into talloc context memory. KX_OK;
 * KX_BAD_INDEX with pointer and detail; KX_NO_MEMORY. */
enum kx_status kx_where_read(const void *memory, struct kx_slice text,
                             struct kx_where **where_out,
                             struct kx_fault *fault);
/* KX_OK: the conditions hold for the value; KX_ABSENT: they do not;
 * KX_NO_MEMORY. Keeps memory in *where, which only one thread may use at a
 * time. */
enum kx_status kx_where_holds(struct kx_where *where,
                              const struct kx_value *value);

/* Names an entry by its value in a unique index, in place of its key. The
 * writer finds the key when it plans the commit, in the state before the
 * commit's own mutations. KX_INDEX_ABSENT, KX_INDEX_NOT_READY,
 * KX_INDEX_NOT_UNIQUE, KX_BAD_KEY refuse the commit. */
struct kx_by {
    struct kx_slice index;  /* its name */
    bool keeps;             /* of a mutation: its entry must still have the
                             * value after the commit, else KX_BAD_VALUE */
    struct kx_slice value;  /* encoded parts, one for each field */
    bool claims;            /* the caller was authorized for `prefix` */
    struct kx_slice prefix; /* with `claims` the index must still have this
                             * prefix, else KX_BUSY */
};

/* A condition on an entry, or on the entries of a range as a list shows them,
 * in the state before the commit's own mutations. */
struct kx_check {
    struct kx_slice key;    /* of a range: the prefix */
    const struct kx_by *by; /* not NULL: the core sets the key; size 0 if no
                             * entry has the value: the entry is absent */
    enum kx_condition condition;
    const uint64_t *stamps; /* for the conditions that have stamps */
    size_t stamp_count;
    const struct kx_where *where; /* for KX_MEETS */
    struct kx_slice start;        /* of a range, inclusive */
    struct kx_slice end;          /* of a range, exclusive */
    const uint8_t *digest;        /* for KX_RANGE_IS */
    size_t limit;                 /* for KX_RANGE_IS; 0: all entries */
    bool reverse;                 /* for KX_RANGE_IS */
};

/* True if the condition is on a range. */
static inline bool kx_check_of_range(const struct kx_check *check)
{
    return check->condition >= KX_RANGE_EMPTY;
}

/* True if a check of an entry, except KX_MEETS, holds for an entry with this
 * stamp (0: absent). Any thread. */
bool kx_check_holds(const struct kx_check *check, uint64_t stamp);

enum kx_mutation_type {
    KX_SET,
    KX_DELETE,
    KX_SUM, /* KvU64 (wraps), number (JSON or V8) or bigint; a missing key
             * takes the operand */
    KX_MIN,
    KX_MAX,
    KX_PATCH,      /* RFC 7396 on JSON, or on V8 that JSON can carry (the
                    * result is JSON); a missing key takes the patch */
    KX_JSON_PATCH, /* the value is a list of operations on such a value (RFC
                    * 6902 and set, append, include, exclude, sum); a missing
                    * key is taken as {} */
    KX_TOUCH,      /* only the time of expiry changes; KX_ABSENT without an
                    * entry */
    KX_ACK,        /* removes the job of a receipt: `job` */
    KX_EXTEND,     /* the lease of the job ends after a pause from now on */
    KX_RELEASE, /* the job is due after a pause, as if it had not been claimed
                 */
    KX_FAIL, /* the job is due after a pause; after the last retry it is moved
              * to the prefix of dead jobs, under the parts of its key and the
              * commit's versionstamp. Without such a prefix, or if an index
              * refuses the move, the job stays in the queue as dead. */
    KX_DELETE_RANGE, /* key is the inclusive start, end the exclusive end;
                      * removes the first `limit` entries in order, fewer
                      * where the budget of the commit ends. With `by`
                      * in the order of that index, which need not be unique;
                      * the bounds are then relative to its name, and an empty
                      * end is after all of its entries. Must be the commit's
                      * only mutation. */
    KX_PATCH_RANGE,  /* the same, but carries out `each` on the entries that
                      * follow the position `after`, and refuses all if one
                      * refuses it. The range is that before the commit: an
                      * entry that moves within it is changed once. One with
                      * several index entries in it is changed at the first. */
    KX_CLAIM /* leases the jobs of a range of the queue `by` that are due
              * when the commit is planned, at most `limit`, and returns
              * them in kx_commit.entries. If the budget ends before a job is
              * found, the next commit must continue `after` kx_commit.last;
              * otherwise no claim gets past it. `returns` is not used. */
};

/* A change of a job by the receipt of its claim. The commit is refused with
 * KX_RECEIPT_STALE if the lease has run out, or the entry was written, claimed
 * again or removed since. */
struct kx_job_change {
    struct kx_slice queue; /* its name; the commit is refused with
                            * KX_QUEUE_ABSENT if the queue does not have the
                            * key; size 0: any queue, only for KX_ACK */
    uint64_t claim;        /* kx_job.claim when the job was claimed */
    int64_t pause_ms; /* -1: the queue's lease; 0 for KX_RELEASE; for KX_FAIL
                       * the pause that the queue declares */
    struct kx_slice error; /* for KX_FAIL: UTF-8 of at most KX_JOB_ERROR_MAX
                            * bytes */
};

/* The state of its entry that a mutation asks for: before the commit, or after
 * it. Two mutations of one key get the same state. */
enum kx_return { KX_RETURN_NOTHING, KX_RETURN_OLD, KX_RETURN_NEW };

/* How a sum beyond its bounds is handled: the commit is refused with
 * KX_OUT_OF_BOUNDS, the bound is stored, or the entry stays as it is. */
enum kx_out { KX_OUT_REFUSE, KX_OUT_CLAMP, KX_OUT_SKIP };

/* Bounds of a sum, inclusive, of the operand's type; a bound without data does
 * not exist. Bounds also hold for the operand of a missing key. With bounds a
 * KvU64 does not wrap: 2^64 - 1 is always its upper bound.
 *
 * With of_deno the bounds are those of Deno KV: V8 values, which do not hold
 * for a missing key or a KvU64; a sum beyond them is KX_NUMBER_RANGE. */
struct kx_bounds {
    struct kx_value min;
    struct kx_value max;
    enum kx_out out;
    bool of_deno;
};

struct kx_buffer;
struct kx_mutation;

/* Checks the bounds of a sum. KX_OK; KX_TYPE_MISMATCH: a bound is not a number
 * of the operand's type; KX_OUT_OF_BOUNDS: min is greater than max;
 * KX_NO_MEMORY. May append bytes to scratch. */
enum kx_status kx_bounds_check(const struct kx_mutation *sum,
                               struct kx_buffer *scratch,
                               struct kx_fault *fault);

/* Which entries get a mutation's expires_at_ms: ALWAYS all of them, NEW only
 * those that it creates, KEEP those that it creates or that do not expire. The
 * others keep their own. */
enum kx_ttl_of { KX_TTL_ALWAYS, KX_TTL_NEW, KX_TTL_KEEP };

/* One change. Mutations are applied in order; each sees the result of those
 * before it. For a key that belongs to an index, a set must carry exactly the
 * value that the index will hold after the commit, and a delete must name a key
 * that the index will not hold. */
struct kx_mutation {
    enum kx_mutation_type type;
    struct kx_slice key;
    const struct kx_by *by;  /* not NULL: the core sets the key, or refuses the
                              * commit with KX_ABSENT, except for ranges */
    struct kx_slice new_key; /* of a KX_SET with `by`: the key to set when no
                              * entry has the value, in place of KX_ABSENT; size
                              * 0: none */
    struct kx_value value;
    int64_t expires_at_ms;          /* 0: the entry does not expire */
    bool suffix_stamp;              /* for KX_SET: the digits of the commit's
                                     * versionstamp, as a string, are appended to the
                                     * key as one more part */
    const struct kx_bounds *bounds; /* for KX_SUM; NULL: none */
    enum kx_ttl_of ttl_of;          /* not for deletes */
    enum kx_return returns;         /* not for ranges */
    struct kx_slice end;            /* for ranges, as limit */
    size_t limit;
    struct kx_slice after; /* for ranges: a kx_commit.last; size 0: the whole
                            * range */
    const struct kx_job_change *job; /* for KX_ACK, KX_EXTEND, KX_RELEASE and
                                      * KX_FAIL */
    const struct kx_mutation *each;  /* for KX_PATCH_RANGE: KX_PATCH,
                                      * KX_JSON_PATCH or KX_TOUCH, with
                                      * everything but its key */
};

/* True if the mutation changes the entries of a range. */
static inline bool kx_mutates_range(const struct kx_mutation *mutation)
{
    return mutation->type >= KX_DELETE_RANGE;
}

/* The result that a mutation has asked for. In a dry run an entry that the
 * commit would write has the stamp 0, and the key of a set with suffix_stamp
 * has no suffix, because another commit will get the next stamp. */
struct kx_result {
    bool asked;   /* the members after `skipped` are set */
    bool skipped; /* a sum with KX_OUT_SKIP was beyond its bounds */
    bool present; /* there is an entry; if not, only its key is set */
    bool omitted; /* of a retried commit: the outcome does not have the value,
                   * and the entry has changed since */
    struct kx_entry entry;
};

/* One failed check: its number in the commit, and what was found. */
struct kx_failed_check {
    size_t check;
    uint64_t actual;           /* the entry's stamp; 0: absent */
    struct kx_slice key;       /* of a range: the entry that was found */
    struct kx_slice condition; /* KX_MEETS: the first that does not hold, as
                                * JSON */
    struct kx_slice found; /* KX_MEETS: the JSON at its path; empty if there is
                            * nothing, or more than KX_FOUND_MAX bytes */
};

/* Why a commit was refused; which members are set depends on the status. The
 * memory that they point to belongs to the commit's talloc context. */
struct kx_refusal {
    struct kx_fault fault;
    struct kx_failed_check *checks; /* KX_CHECK_FAILED */
    size_t check_count;
    size_t mutation;        /* number of the mutation concerned, or of the
                             * declaration */
    const struct kx_by *by; /* the name by which no entry was found, or NULL */
    char index[KX_INDEX_NAME_MAX + 1]; /* KX_UNIQUE_VIOLATION,
                                        * KX_INDEX_OWNED_KEY, KX_NOT_INDEXABLE;
                                        * for writes also KX_INDEX_NOT_READY;
                                        * KX_RULE_VIOLATED, KX_REFERENCED: the
                                        * rule */
    struct kx_slice
        field; /* KX_NOT_INDEXABLE, KX_RULE_VIOLATED, KX_REFERENCED
                * (of the referring entry): JSON Pointer into the entry's value;
                * empty when the key is concerned, or the value as a whole */
    struct kx_slice expected;     /* KX_RULE_VIOLATED: what would be right */
    struct kx_slice index_value;  /* encoded field parts of the index key */
    struct kx_slice existing_key; /* the primary key that has the value;
                                   * KX_REFERENCED: of a referring entry */
    uint64_t referring; /* KX_REFERENCED: the number of referring entries if
                         * they are too many for one commit, at most
                         * KX_REFERRING_COUNT_MAX, and less if these are too
                         * large to be counted; otherwise 0 */
    struct kx_slice attempted_key; /* also the entry of a KX_PATCH_RANGE that
                                    * refuses the mutation */
    bool omitted;          /* of a retried commit: the outcome does not have
                            * `holds` */
    bool held;             /* KX_INDEX_OWNED_KEY: the index will hold an entry
                            * under the key, with the value `holds` */
    struct kx_value holds; /* KX_OUT_OF_BOUNDS: the value of the entry, or of
                            * the place that a patch adds to; KX_RULE_VIOLATED:
                            * the JSON at `field` */
};

struct kx_token;
struct kx_index_set;

/* The kinds of commit, each with the members of kx_command that it uses. */
enum kx_command_kind {
    KX_WRITE,           /* no command: checks and mutations */
    KX_DECLARE_INDEX,   /* declaration; pace.paused: the build waits */
    KX_DECLARE_INDEXES, /* set */
    KX_DROP_INDEX,      /* index_name */
    KX_MIGRATE_INDEX,   /* index_name; declaration is a merge patch */
    KX_UNDO_MIGRATION,  /* index_name */
    KX_PACE_INDEX,      /* index_name, pace */
    KX_VERIFY_INDEX,    /* index_name, repair */
    KX_DECLARE_RULE,    /* declaration */
    KX_DROP_RULE,       /* index_name: of the rule */
    KX_ADD_TOKEN,       /* token */
    KX_REVOKE_TOKEN     /* token_id; answers waiting watches and
                           kx_index_change_wait */
};

/* The speed of background work on an index. Stored with the index.
 * KX_PACE_INDEX changes `paused` only with sets_paused, and `per_second` only
 * with sets_limit. */
struct kx_pace {
    bool sets_paused;
    bool paused; /* no background work */
    bool sets_limit;
    uint32_t per_second; /* entries per second at most; 0: no limit */
};

/* A change of an index or of a token. */
struct kx_command {
    enum kx_command_kind kind;
    struct kx_slice index_name;
    struct kx_slice declaration; /* JSON text */
    struct kx_index_set *set;
    struct kx_pace pace;
    bool repair;                  /* correct the differences that are found */
    const struct kx_token *token; /* copied */
    struct kx_slice token_id;
};

/* The assumption under which the caller was authorized to change the key:
 * whether the key belonged to an index at the time of the check. */
struct kx_claim {
    struct kx_slice key;
    bool of_index;
};

/* When a commit reached each stage, by kx_monotonic_ns; 0: not reached. */
struct kx_milestones {
    uint64_t submitted_ns;
    uint64_t begun_ns; /* when its batch began */
    uint64_t planned_ns;
    uint64_t applied_ns;
    uint64_t flushed_ns;
};

/* A sender of commits. The writer serves the clients in turns, by what their
 * commits cost; the commits of one client are carried out in the order of their
 * submission. All members are zero before its first commit and then belong to
 * the core (commit/commit_queue.h). It must live until its last commit is
 * answered. */
struct kx_client {
    STAILQ_ENTRY(kx_client) entry; /* in the list of clients that wait */
    struct kx_commit *first; /* its commits that still wait for their turn */
    struct kx_commit *last;
    atomic_uint count; /* its commits that wait, submitted ones included */
    uint64_t round;    /* the first in which it may be served again */
    uint64_t spent;    /* units of its present turn */
    bool was_long;     /* its last commit took as long as a batch may take */
};

/* A commit. Others wait for it, so one that would cost more than
 * KX_COMMIT_UNITS_MAX is refused with KX_COMMIT_TOO_LARGE. The change of a
 * range ends within that bound, and the deletion of one entry has none.
 *
 * A commit lies in the caller's memory, with everything it points to, from
 * kx_submit to its answer. Members that the caller does not set must be zero.
 */
struct kx_commit {
    /* Set by the caller, unchanged until the answer, except for the keys of
     * entries named by a value, and those that kx_idempotency replaces. */
    struct kx_command command; /* unless its kind is KX_WRITE, the commit has no
                                * checks, mutations and claims */
    struct kx_check *checks;
    size_t check_count;
    struct kx_mutation *mutations;
    size_t mutation_count;
    const struct kx_claim *claims; /* each must hold when the commit is
                                    * applied, else KX_BUSY */
    size_t claim_count;
    bool dry; /* compute the result, change nothing; for writes,
               * KX_DECLARE_INDEX and KX_DECLARE_INDEXES */
    struct kx_idempotency *idempotency; /* NULL: the commit has no idempotency
                                         * key */
    struct kx_client *client; /* NULL: one that all such commits share */
    void *memory;             /* talloc context for results; no other
                               * thread may use it until the answer */
    struct kx_ticket ticket;
    struct kx_commit *next; /* used by the core until the answer */
    /* Result. */
    enum kx_status status;
    uint64_t stamp;            /* the commit's versionstamp, on KX_OK; 0 if it
                                * changes nothing */
    struct kx_refusal refusal; /* on any other status */
    bool created;              /* the first mutation's key was absent, or
                                * the index was not declared before, or
                                * begins to migrate */
    struct kx_result *results; /* on KX_OK, in memory: one for each mutation;
                                * NULL if no mutation asks */
    struct kx_milestones times;
    struct kx_entry *entries; /* in memory: the in_range entries that KX_CLAIM
                               * has leased, or KX_PATCH_RANGE has changed if
                               * `each` asks for KX_RETURN_NEW; otherwise, and
                               * for a repeated commit, NULL */
    size_t in_range;          /* entries of its range that were changed */
    bool more;                /* the limit of its range was reached and
                               * entries remain, or its budget and some may */
    struct kx_slice last;     /* with `more`, in memory: the position of the
                               * last entry that the range has passed, as
                               * kx_scan_position */
    int64_t lease_ms;         /* of KX_CLAIM: the length of its leases */
    int64_t next_due_ms; /* of KX_CLAIM: the earliest time when a job is due
                          * that the range has passed; 0: none was passed */
    struct kx_preview *preview; /* for a dry KX_DECLARE_INDEX, in memory */
};

/* True if a commit with the status KX_OK changes the store: it is not dry, and
 * not a claim that has found no job. */
static inline bool kx_commit_changes(const struct kx_commit *commit)
{
    bool claims =
        commit->mutation_count > 0 && commit->mutations[0].type == KX_CLAIM;
    return !commit->dry && (!claims || commit->in_range > 0);
}

/* Hands a commit to the writer; never blocks on the disk. Any thread. KX_OK:
 * the answer function will be called with its ticket, once, when its result is
 * set and durable. KX_BUSY (as many commits wait as may, or half as many of
 * this client), KX_STOPPING, KX_DISK_FULL, KX_FAILED: the commit was not
 * accepted and will not be answered. */
enum kx_status kx_submit(struct kx_store *store, struct kx_commit *commit);

/* As kx_submit, for a thread that has no other work. When the writer is idle
 * and the commit is a small write, the calling thread applies the commit
 * itself, flush included, and the answer function is called before this
 * returns. This saves two thread wake-ups, which take as long as the flush. */
enum kx_status kx_submit_alone(struct kx_store *store,
                               struct kx_commit *commit);

/* From kx_commits_expected to kx_commits_done the calling thread has work that
 * may produce more commits: the writer may delay a small batch for up to half a
 * millisecond to include them. The calls are paired; the writer never waits for
 * a thread that makes no such calls. Any thread. */
void kx_commits_expected(struct kx_store *store);
void kx_commits_done(struct kx_store *store);

#endif
