/* Indexes: their declarations, the progress of their builds, their contents. */
#ifndef KINDEX_INDEX_H
#define KINDEX_INDEX_H

#include "kindex/reader.h"

struct kx_adoption;
struct kx_verification;

enum kx_index_state {
    KX_INDEX_BUILDING,
    KX_INDEX_READY,
    KX_INDEX_CONFLICTED,
    KX_INDEX_MIGRATING,
    KX_INDEX_DROPPING,
    KX_INDEX_FAILED
};
/* The state's name in JSON, such as "building". */
const char *kx_index_state_text(enum kx_index_state state);

/* Why an index has no index entry for an entry under its prefix. */
enum kx_left_out {
    KX_LEFT_OUT_WHERE,   /* a condition of its `where` does not hold */
    KX_LEFT_OUT_MISSING, /* nothing is where a field is read */
    KX_LEFT_OUT_TYPE,    /* the value there has no place in the order, or a sum
                          * has no number that it can add */
    KX_LEFT_OUT_SIZE,    /* the index key would be too long, or there would be
                          * too many */
    KX_LEFT_OUT_EMPTY,   /* the array of a field with `each` is empty */
    KX_LEFT_OUT_REASONS
};
/* The reason's name in JSON, such as "missing". */
const char *kx_left_out_text(enum kx_left_out reason);

struct kx_index_info {
    struct kx_slice name;
    struct kx_slice declaration; /* JSON text, all defaults filled in */
    enum kx_index_state state;
    struct kx_slice prefix; /* encoded parts */
    bool queue;             /* jobs can be claimed from it */
    /* Not empty: the index migrates. It serves `declaration` until the
     * migration has ended, and `target` (JSON text) from then on. `migration`
     * is the state of the migration: building, conflicted or failed. */
    struct kx_slice target;
    enum kx_index_state migration;
    /* Progress of a build or a migration, in entries. total is an estimate
     * until the end. */
    uint64_t done;
    uint64_t total;
    uint64_t skipped; /* entries without an indexable value */
    struct kx_slice samples[KX_SAMPLES_MAX]; /* keys of some skipped entries */
    size_t sample_count;
    bool paused;
    uint32_t per_second_max; /* entries; 0: no limit */
    int64_t started_at_ms;
    double per_second;
    /* Progress of a build: index entries gathered, index entries not yet
     * written, and entries written per second (0: not yet known). */
    uint64_t gathered;
    uint64_t unwritten;
    double write_rate;
    bool resumed;                /* the build continued after a restart */
    char failure[KX_DETAIL_MAX]; /* of a failed build */
    uint64_t entries;            /* index entries, estimated */
    uint64_t conflicts; /* entries whose unique value another entry has */
    /* Stored entries under the prefix that have no index entry, by reason; an
     * entry that has expired counts until it is removed. `left_out_known`:
     * the numbers are exact. They are not while the index is built, nor if an
     * earlier program has written to the store, until a verification has
     * counted. */
    uint64_t left_out[KX_LEFT_OUT_REASONS];
    bool left_out_known;
    /* Usage since since_ms, when the store was opened or the index declared. */
    int64_t since_ms;
    uint64_t reads;       /* scans and look-ups, also of the index entries
                           * themselves */
    int64_t last_read_ms; /* 0: not read since since_ms */
    uint64_t writes;      /* index entries that commits put or removed */
    const struct kx_adoption *adoption; /* valid until the end of the view */
    /* The last one, or NULL; valid until the end of the view. */
    const struct kx_verification *verification;
};

/* Returns the number of entries left out for any reason. */
static inline uint64_t
kx_left_out_sum(const uint64_t left_out[KX_LEFT_OUT_REASONS])
{
    uint64_t entries = 0;
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++)
        entries += left_out[reason];
    return entries;
}

/* Inside a view. The slices are valid until the end of the view. KX_OK or
 * KX_INDEX_ABSENT. */
enum kx_status kx_index_find(struct kx_reader *reader, struct kx_slice name,
                             struct kx_index_info *info_out);
/* The n-th index in name order; KX_END after the last. */
enum kx_status kx_index_at(struct kx_reader *reader, size_t n,
                           struct kx_index_info *info_out);
/* True if the n-th index covers an entry with this key and has fields in the
 * entry's value: an entry whose value is bytes (KX_BYTES) has no fields, so it
 * is not in the index. Inside a view. */
bool kx_index_leaves_out_bytes(const struct kx_reader *reader, size_t n,
                               struct kx_slice key);
/* The facts needed to follow an index of changes. */
struct kx_changes {
    size_t groups;    /* fields before the versionstamp */
    uint64_t history; /* all removals after this versionstamp are in the index,
                       * if it keeps tombstones, and all other changes */
    uint64_t stamp;   /* of the last commit in this view */
    uint64_t stored;  /* not above it: commits up to here are on disk */
};
/* Inside a view. KX_OK, KX_INDEX_ABSENT, KX_INDEX_NOT_READY; KX_BAD_INDEX: its
 * last field is not the versionstamp. */
enum kx_status kx_index_changes(struct kx_reader *reader, struct kx_slice name,
                                struct kx_changes *changes_out,
                                struct kx_fault *fault);
/* Bytes of the keys and values of the index's entries, estimated from a sample
 * of at most a second ago.
 * Inside a view; ends an open scan. KX_OK, KX_INDEX_ABSENT, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status kx_index_bytes(struct kx_reader *reader, struct kx_slice name,
                              uint64_t *bytes_out);

struct kx_estimate {
    uint64_t most; /* rows that may be counted, at least 1; set by the caller */
    uint64_t rows; /* entries that a scan of the range would read */
    bool exact;    /* counted, not estimated, because there are few */
};
/* The size of a range of an index (start and end as for kx_scan_index) or, with
 * an empty name, of the store. Counts at most estimate->most rows, and
 * estimates the others. Inside a view; ends an open scan. KX_OK,
 * KX_INDEX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_estimate(struct kx_reader *reader, struct kx_slice index,
                           const struct kx_range *range,
                           struct kx_estimate *estimate,
                           struct kx_fault *fault);

/* Replaces bound_out with a place in the range before which roughly this part
 * of its entries lies (0.0 to 1.0), as start or end of a range. `index` and the
 * range's start and end as above; it needs an end unless there is an index.
 * Inside a view; ends an open scan. KX_OK, KX_INDEX_ABSENT, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status kx_find_share(struct kx_reader *reader, struct kx_slice index,
                             const struct kx_range *range, double share,
                             struct kx_buffer *bound_out);

/* Replaces out with the encoded parts in the form that the index's entries
 * have: text is folded, and values of descending fields are turned over, so it
 * is done once. For bounds of scans; not while a scan is open. KX_OK,
 * KX_INDEX_ABSENT, KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status kx_index_fold(struct kx_reader *reader, struct kx_slice name,
                             struct kx_slice parts, struct kx_buffer *out);

/* The opposite: replaces out with the values from which the parts of an index
 * key after the name, or the first of these parts, were made. Folded text stays
 * as it is. Inside a view. KX_OK, KX_INDEX_ABSENT, KX_NO_MEMORY (out->failed is
 * set). */
enum kx_status kx_index_values(struct kx_reader *reader, struct kx_slice name,
                               struct kx_slice parts, struct kx_buffer *out);

struct kx_lookup {
    struct kx_slice index;
    struct kx_slice value;         /* encoded parts after the index's name */
    const struct kx_slice *fields; /* as in struct kx_range */
    size_t field_count;
};
/* The entry with this value in a unique index, valid until the next call on the
 * reader. KX_OK, KX_ABSENT, KX_INDEX_ABSENT, KX_INDEX_NOT_UNIQUE,
 * KX_INDEX_NOT_READY, KX_BAD_KEY, KX_BUSY, KX_NO_MEMORY, KX_FAILED,
 * KX_UNREACHABLE. */
enum kx_status kx_index_get(struct kx_reader *reader,
                            const struct kx_lookup *lookup,
                            struct kx_entry *entry_out, struct kx_fault *fault);

/* The keys that a declaration concerns. */
struct kx_declared {
    struct kx_slice name_key; /* the index's name as an encoded key part */
    struct kx_slice prefix;   /* of the entries that are indexed */
    struct kx_slice dead;     /* of the dead jobs of a queue; size 0: none */
    bool adopts;              /* it adopts the entries under its name, and
                               * removes those that are wrong */
};
/* Reads a declaration; the slices lie in talloc context mem. Returns the errors
 * of a declaration: KX_OK, KX_BAD_INDEX and so on. */
enum kx_status kx_declared_read(void *mem, struct kx_slice declaration,
                                struct kx_declared *declared_out);

/* The properties that an index would have, computed from a sample of entries.
 */
struct kx_preview {
    bool exact;       /* all entries were read; the numbers are counts */
    uint64_t read;    /* sampled entries with the prefix */
    uint64_t sampled; /* entries that the index covers */
    uint64_t covered; /* entries that the index covers */
    uint64_t skipped; /* covered entries without an indexable value */
    uint64_t left_out[KX_LEFT_OUT_REASONS]; /* covered entries without an index
                                             * entry */
    uint64_t entries;                       /* index entries */
    uint64_t bytes;                         /* on disk */
    uint64_t conflicts; /* index entries in excess of what a unique index can
                         * have */
    double seconds;     /* to build it */
    struct kx_slice declaration; /* JSON text, all defaults filled in */
    struct kx_slice warnings;    /* JSON array of sentences */
};

/* How a set of declarations changes one index. */
enum kx_index_change {
    KX_INDEX_STAYS,
    KX_INDEX_ADDED,   /* it was not declared before */
    KX_INDEX_AGAIN,   /* it had failed, and its build begins again */
    KX_INDEX_CHANGED, /* it begins to migrate */
    KX_INDEX_DROPPED
};
struct kx_planned_index {
    struct kx_slice name; /* in the commit's memory */
    enum kx_index_change change;
    struct kx_preview *preview; /* of a dry run, unless it stays or is
                                 * dropped */
};

/* The declarations that are to hold after a KX_DECLARE_INDEXES: all that they
 * change is one change of the catalog. */
struct kx_index_set {
    /* Set by the caller. */
    const struct kx_slice *declarations; /* JSON texts, of different names */
    size_t count;
    bool prune; /* drop indexes that are not declared */
    const struct kx_slice
        *prunable; /* the indexes that may be dropped; NULL: all */
    size_t prunable_count;
    /* Result, in the commit's memory: the declared indexes in the order of the
     * declarations, then the dropped ones. */
    struct kx_planned_index *planned;
    size_t planned_count;
};

/* Returns a counter that grows whenever an index changes its state, the
 * progress of its build, or its pace. Callers read the counter before the
 * indexes, so that they miss no change. Any thread. */
uint64_t kx_index_change_count(struct kx_store *store);
/* Registers a ticket for the next change after `seen`, a result of
 * kx_index_change_count. KX_OK: the store's answer function will be called with
 * the ticket; changes that follow each other closely are answered together.
 * KX_END: the counter exceeds `seen` already, and the ticket is not registered.
 * The caller owns the ticket, which must stay valid until it is answered or
 * withdrawn. Any thread. */
enum kx_status kx_index_change_wait(struct kx_store *store, uint64_t seen,
                                    struct kx_ticket *ticket);
/* Withdraws a ticket: true if the ticket will not be answered. False: the
 * ticket has been answered or is about to be. All tickets must be withdrawn or
 * answered before kx_close. Any thread. */
bool kx_index_change_cancel(struct kx_store *store, struct kx_ticket *ticket);

#endif
