/* The state of a reader, and what its files call of each other. A reader
 * belongs to one thread. */
#ifndef READER_STATE_H
#define READER_STATE_H

#include "engine/engine.h"
#include "commit/store_state.h"
#include "kindex/ranges.h"
#include "kindex/tree.h"
#include "schema/extract.h"

/* The position in a list of conflicts. */
struct conflict_group {
    const struct index *index;
    struct kx_slice owner; /* owner of the row at the scan's position */
    bool found;            /* an entry of the group is known */
    bool open;             /* an entry of the group was returned */
    bool waits; /* the row at the scan's position was not returned yet */
};

/* A range of a merge. */
struct merge_source {
    struct engine_range *rows;
    struct kx_buffer start; /* bounds in the table of what is left */
    struct kx_buffer end;
    size_t number;
    bool begun;
    bool ended;
    struct kx_slice key; /* of the next row, valid until rows are asked again */
    struct kx_slice bytes;
};

struct reader_ranges {
    struct kx_ranges *ranges;
    bool overlap;          /* an entry may have several places */
    size_t at;             /* the number of the range of the last row */
    struct kx_slice after; /* in this range; empty: from its beginning */
    struct kx_buffer record;
    struct extract extract;
    /* A merge. */
    struct merge_source *sources;
    struct merge_source **order; /* those that have a row, next one first */
    size_t left;                 /* number of them */
    bool taken;                  /* the row of the first was taken */
    size_t skip;                 /* bytes of the name of the index */
};

struct kx_reader {
    struct kx_store *store;
    int64_t now_ms;
    uint64_t flush;   /* what kx_read_end will return */
    bool held;        /* the view is entered until kx_read_release */
    bool viewing;     /* between kx_read_begin and kx_read_end */
    bool cache_only;  /* it may read the cache but no table */
    bool memory_only; /* kx_reader_use_memory_only */
    struct engine_view *view;
    struct engine_range *rows; /* the scan */
    struct engine_range
        *primaries; /* look-ups of entries that index rows point to */
    bool scanning;
    bool ended; /* the scan has reached its bound */
    bool reverse;
    bool yields;
    bool count_only;
    bool fields_stored;      /* the index's rows hold all requested members */
    struct kx_reads *reads;  /* where to count */
    struct kx_reads own;     /* used if the caller gives none */
    uint64_t resolved;       /* entries looked up in this view, by an index */
    uint64_t looked;         /* bytes of all rows read in this view */
    uint64_t yielded_at;     /* `looked` when the scan began or yielded last */
    size_t prefetched_rows;  /* rows to come whose entries are prefetched */
    size_t cpu_fetched_rows; /* rows to come whose records are being fetched */
    size_t prefetch_size;    /* how many of them at a time, 0: none so far */
    struct index *index;     /* of an index scan, or NULL */
    struct kx_buffer start;  /* bounds of the scan */
    struct kx_buffer end;
    struct kx_buffer bound; /* of a scan that skips rows; last key of a tally */
    struct kx_buffer position; /* key in scan order of the last entry */
    struct kx_buffer record;   /* record found for a look-up */
    struct kx_buffer row;      /* of an index, looked up */
    struct kx_buffer ahead;    /* keys that the next index entries point to */
    struct kx_buffer primary;  /* key that the last index entry points to */
    struct conflict_group group;
    struct due_totals *due;  /* read in this view (reader_totals.c), or NULL */
    struct kx_buffer totals; /* of the last group */
    struct reader_ranges *ranges; /* a scan of several; else NULL */
};

/* Counts a row of this size, in bytes. */
static inline void reader_count(struct kx_reader *reader, size_t bytes)
{
    reader->reads->entries++;
    reader->reads->bytes += bytes;
    reader->looked += bytes;
}

/* Notes that the view depends on this flush (0: on none). */
void reader_saw(struct kx_reader *reader, uint64_t flush);

/* Fills fault with the index's state and progress: KX_INDEX_NOT_READY. */
enum kx_status reader_not_ready(const struct index *index,
                                struct kx_fault *fault);

/* The readable index of this name: KX_OK, KX_INDEX_ABSENT, KX_INDEX_NOT_READY.
 */
enum kx_status reader_index(struct kx_reader *reader, struct kx_slice name,
                            struct index **index_out, struct kx_fault *fault);

/* The record under key if a client may see it; it lies in `bytes`. KX_OK,
 * KX_ABSENT, KX_AGAIN (a peek, and it is not cached), KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status reader_record(struct kx_reader *reader, struct kx_slice key,
                             struct kx_buffer *bytes,
                             struct record *record_out);

/* The record under a key as this view sees the table, for a series of look-ups
 * (range_find): KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status reader_find(struct kx_reader *reader,
                                         struct kx_slice key,
                                         struct kx_slice *bytes_out)
{
    if (before_image_find(&reader->store->view.before_image, key, bytes_out))
        return bytes_out->size == 0 ? KX_ABSENT : KX_OK;
    return engine_range_find(reader->primaries, key, bytes_out);
}

/* Sets the bounds of a scan from a range that is relative to a name (encoded,
 * empty: none). Without memory reader->start.failed or end.failed is set. */
void reader_bounds(struct kx_reader *reader, struct kx_slice name,
                   const struct kx_range *range);

/* Begins a scan of the rows of a rule: kx_scan_next returns the totals as
 * entries. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status reader_scan_rule(struct kx_reader *reader, struct index *rule,
                                const struct kx_range *range);

/* Narrows the bounds of a scan of reader->index, or of the entries, to what
 * follows a position in the direction of reader->reverse; empty: nothing is
 * narrowed. */
void reader_resume(struct kx_reader *reader, struct kx_slice name,
                   struct kx_slice after);

/* Frees the list of several ranges, if there is one. Ends the scans of a merge
 * and notes what they have seen. If the ranges are scanned one after another,
 * the present scan stays open. */
void reader_ranges_end(struct kx_reader *reader);

/* Continues the open forward scan at a key that is relative to the name of its
 * index, past the rows before it. KX_OK; KX_END: the key is not within the
 * bounds; KX_NO_MEMORY, KX_FAILED. */
enum kx_status reader_scan_jump(struct kx_reader *reader, struct kx_slice to);

/* About how many rows that begin with the first `size` bytes (not counting the
 * name of an index) of the row at which the open forward scan is, and lie
 * within its bounds, there are; the first `counted` were read. */
uint64_t reader_estimate_under(struct kx_reader *reader, size_t size,
                               uint64_t counted);

/* Sets the members of values that the next calls need (none: all), for entries
 * found by an index; index may be NULL. */
void reader_asks(struct kx_reader *reader, const struct index *index,
                 const struct kx_slice *fields, size_t count);

/* The entry that a row of an index stands for, as clients see it; *row becomes
 * the form of it that counts. Its key lies in reader->primary, the record in
 * the row or the reader's buffers, until the next call. KX_OK, KX_ABSENT (it is
 * hidden), KX_NO_MEMORY, KX_FAILED.
 */
enum kx_status reader_resolve(struct kx_reader *reader,
                              const struct index *index, struct kx_slice key,
                              struct record *row, struct kx_entry *entry_out);

/* reader_totals.c: the rows of aggregate indexes, without the entries that have
 * expired. True if this is a row of an aggregate index. */
bool reader_shows_totals(const struct kx_reader *reader,
                         const struct record *row);

/* Shows the totals of the row under this key without what expired entries add
 * to them. If there is such an entry, the value lies in the reader until the
 * next call. KX_OK; KX_ABSENT: nothing is left in the group; KX_BUSY: too many
 * entries have expired and are not removed yet; KX_NO_MEMORY, KX_FAILED. */
enum kx_status reader_totals(struct kx_reader *reader, struct kx_slice group,
                             struct record *row, struct kx_entry *entry_out);

#endif
