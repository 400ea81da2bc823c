/* The state of a plan, for the files that plan, extend or apply it. Writer
 * thread only. */
#ifndef PLAN_STATE_H
#define PLAN_STATE_H

#include <stdio.h>

#include "catalog/catalog.h"
#include "plan/overlay.h"
#include "rules/rule.h"
#include "schema/extract.h"

struct conflict_set;
struct engine_range;
struct outcome_set;

/* How the counts of an index change. */
struct count_delta {
    struct index *index; /* NULL: clients' entries */
    int64_t entries;
    int64_t conflicts; /* conflict rows */
    int64_t writes;    /* rows put or removed */
    uint64_t history;  /* stamp of the last tombstone that expired, or 0 */
    uint64_t adopted[KX_ADOPTED_KINDS];
};

/* Changes of the numbers of entries that an index leaves out. */
struct left_out_delta {
    struct index *index;
    int64_t counts[KX_LEFT_OUT_REASONS];
};

struct left_out_deltas {
    struct left_out_delta *list; /* has room for each index of the catalog */
    size_t count;
};

/* One for each batch. It is the talloc parent of the overlay and the scratch
 * buffers. The store keeps it until the next batch, since the view (view.h)
 * points to its keys. */
struct plan {
    struct catalog *catalog;
    struct overlay *overlay;
    struct engine_range *range; /* for changes of ranges */
    int64_t now_ms;             /* the time of the whole batch */
    uint64_t stamp;             /* the last one given, this batch included */
    size_t value_max;
    bool optimistic; /* new values of unique indexes, and keys of idempotency,
                      * are assumed to be absent */
    struct conflict_set *conflict_set; /* conflict rows put so far, or NULL */
    struct outcome_set *outcomes;      /* outcomes to store, or NULL */
    struct engine_view *view;          /* the writer's */
    struct kx_commit *commit;          /* being planned */
    struct charge charge;              /* what the commit costs */
    uint64_t budget;                   /* what one commit may cost */
    uint64_t units;                    /* cost of the commits before */
    uint64_t outcome_quota;            /* bytes of the outcomes of one sender */
    bool moves_dead; /* the commit has moved a dead job out of its queue */
    bool keeps_dead; /* dead jobs stay in their queues, since an index has
                      * refused a move of the commit */
    bool expires;    /* the plan removes an expired entry (plan_expire) */
    struct kx_slice detached; /* key of an entry to which too many others refer
                               * for one step of expiry: this step changes some
                               * of them and keeps the entry; empty: none */
    size_t result_bytes;      /* of entries that the commit returns */
    struct kx_buffer key;     /* scratch of the steps */
    struct extract before;    /* index entries of a changed entry */
    struct extract now;
    struct kx_buffer record;
    struct kx_buffer value;
    struct kx_buffer group_totals; /* of a row of an aggregate index */
    struct kx_buffer joined;       /* a row of two indexes */
    struct rule_work rules;
    struct count_delta
        deltas[KX_INDEXES_MAX + KX_RULES_MAX + 1]; /* of the
                                                    * present commit */
    size_t delta_count;
    struct count_delta
        totals[KX_INDEXES_MAX + KX_RULES_MAX + 1]; /* of the
                                                    * kept commits */
    size_t total_count;
    /* Changes by the present commit (left_out) and by the kept commits
     * (left_out_total). Few commits change these numbers, so the lists are
     * allocated on first use. */
    struct left_out_deltas left_out;
    struct left_out_deltas left_out_total;
};

/* ---- Counts --------------------------------------------------------------
 * Kept for the present commit, and added to the plan's when it holds. */

/* Adds a change of the counts of one index. */
void plan_count_delta(struct plan *plan, struct count_delta delta);

/* Adds to the number of entries of an index (NULL: of the clients). */
static inline void plan_count(struct plan *plan, struct index *index,
                              int64_t entries)
{
    plan_count_delta(plan,
                     (struct count_delta){.index = index, .entries = entries});
}

/* Adds to the number of conflict rows. */
static inline void plan_count_conflicts(struct plan *plan, struct index *index,
                                        int64_t conflicts)
{
    plan_count_delta(
        plan, (struct count_delta){.index = index, .conflicts = conflicts});
}

/* Counts a row of the index that is put or removed. */
static inline void plan_count_write(struct plan *plan, struct index *index)
{
    plan_count_delta(plan, (struct count_delta){.index = index, .writes = 1});
}

/* Counts a tombstone with this stamp that is removed: the index's history
 * begins after it. */
static inline void plan_count_forgotten(struct plan *plan, struct index *index,
                                        uint64_t stamp)
{
    plan_count_delta(plan, (struct count_delta){.index = index,
                                                .entries = -1,
                                                .writes = 1,
                                                .history = stamp});
}

/* Counts a hand-kept entry that the index has taken over. */
static inline void plan_count_adopted(struct plan *plan, struct index *index,
                                      enum kx_adopted kind)
{
    struct count_delta delta = {.index = index};
    delta.adopted[kind] = 1;
    plan_count_delta(plan, delta);
}

/* Adds to the number of entries that the index leaves out for this reason.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status plan_count_left_out(struct plan *plan, struct index *index,
                                   enum kx_left_out reason, int64_t entries);

/* Ends the present commit or step of a job, and keeps or drops its changes and
 * counts. */
void plan_end(struct plan *plan, bool keep);

/* Copies what a result needs of an entry into talloc context memory: it
 * outlives the row. False: no memory. */
bool plan_entry_copy(const void *memory, struct kx_entry *entry);

/* ---- Helpers ------------------------------------------------------------- */

/* Reads the record of a client's entry. False if the bytes are not one: a key
 * without a row, a row of an index, also of one that was dropped, or damage. */
static inline bool plan_client_record(struct kx_slice bytes,
                                      struct record *record_out)
{
    return record_read(bytes, record_out) && record_out->index == 0;
}

/* The refusal of the present commit. */
static inline struct kx_refusal *plan_refusal(struct plan *plan)
{
    return &plan->commit->refusal;
}

/* Names the index that refuses a commit. */
static inline void plan_name_index(struct kx_refusal *refusal,
                                   const struct index *index)
{
    snprintf(refusal->index, sizeof refusal->index, "%s",
             index->declaration->name_text);
}

#endif
