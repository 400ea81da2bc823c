/* Reads: one state of the store, seen by one thread. */
#ifndef KINDEX_READER_H
#define KINDEX_READER_H

#include "kindex/entry.h"
#include "kindex/store.h"

/* A reader of one thread. A view lasts from kx_read_begin to kx_read_end: all
 * calls in it see one state of the store, and commits wait, so it should last
 * only a few milliseconds. kx_reader_open: KX_OK, KX_NO_MEMORY.
 * kx_reader_close: not inside a view; NULL is allowed. */
struct kx_reader;
enum kx_status kx_reader_open(struct kx_store *store,
                              struct kx_reader **reader_out);
void kx_reader_close(struct kx_reader *reader);

/* Counts of what a reader has read. */
struct kx_reads {
    uint64_t entries; /* rows examined, index entries included */
    uint64_t bytes;   /* their stored size */
    char index[KX_INDEX_NAME_MAX + 1]; /* the index used last, or "" */
};
/* Makes further reads add to *reads, which must stay valid until the next call
 * of this function; NULL stops the counting. */
void kx_reader_count(struct kx_reader *reader, struct kx_reads *reads);

/* Begins a view. May wait a moment for a batch that is being applied, but never
 * for a flush to disk. A thread has at most one view at a time. */
void kx_read_begin(struct kx_reader *reader);
/* Ends the view, and any scan in it. Returns 0 if everything seen is on disk;
 * otherwise the number of the flush after which it will be. Hold the reply back
 * until then (kx_wait): a crash could still undo what it shows. */
uint64_t kx_read_end(struct kx_reader *reader);

/* Reads the entry with this key. KX_OK; KX_ABSENT (always for the empty key);
 * KX_INDEX_NOT_READY (the fault says which index); KX_BUSY: totals, from which
 * too many expired entries would have to be subtracted; KX_FAILED;
 * KX_NO_MEMORY; KX_UNREACHABLE. The entry's slices lie in `record`, whose
 * contents are replaced.
 */
enum kx_status kx_read(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault);

/* For a thread that must not block: from a successful hold until
 * kx_read_release the views of this reader begin without waiting, and all see
 * one state. False: a batch is being applied. kx_read_hold then keeps the
 * ticket and answers it when another try is worthwhile; the caller then calls
 * kx_read_hold_done once: after that try, or when it gives up. kx_read_try_hold
 * takes no ticket. Between hold and release the thread must not submit a
 * commit. */
bool kx_read_hold(struct kx_reader *reader, struct kx_ticket *ticket);
bool kx_read_try_hold(struct kx_reader *reader);
void kx_read_hold_done(struct kx_store *store);
/* The same for a thread that may wait, until a time of kx_monotonic_ns. After
 * that time, reads of rows on another machine fail with KX_UNREACHABLE until
 * kx_read_release. */
bool kx_read_hold_until(struct kx_reader *reader, uint64_t until_ns);
/* Releases a hold, if there is one. Not inside a view. */
void kx_read_release(struct kx_reader *reader);
/* Returns whether the reader has no hold and no view. */
bool kx_reader_is_idle(const struct kx_reader *reader);

/* Restricts the reader to memory, because its thread must not wait for rows on
 * another machine or for a slow disk: kx_read_alone says KX_AGAIN where
 * a view is needed, and kx_read_try_hold fails. Not inside a view. */
void kx_reader_use_memory_only(struct kx_reader *reader, bool memory_only);

/* Counts of the file reads that a thread has made for rows. */
struct kx_disk_reads {
    uint64_t count;
    uint64_t slow; /* reads that took longer than reads from memory do */
};
/* Returns the file reads of this thread so far; zeros if the rows are on
 * another machine. */
struct kx_disk_reads kx_disk_reads(const struct kx_store *store);

/* Prefetches the entries under these keys, which are read next: from another
 * machine with one round trip, from a slow disk at the same time. Inside a
 * view. */
void kx_read_prefetch(struct kx_reader *reader, const struct kx_slice *keys,
                      size_t count);

/* Reads an entry like kx_read, with its own view; the status is in
 * fault->status. Returns 0 if the entry is on disk, otherwise the number of the
 * flush after which it will be. Never waits: the status is KX_AGAIN if a batch
 * is being applied and the entry is not cached. */
uint64_t kx_read_alone(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault);

/* Returns the stored bytes of the rows that this view has examined. */
uint64_t kx_read_bytes(const struct kx_reader *reader);

struct kx_range {
    struct kx_slice start; /* inclusive */
    struct kx_slice end;   /* exclusive */
    struct kx_slice after; /* a kx_scan_position, also of an earlier scan: only
                            * entries after it in the direction of the scan;
                            * empty: all */
    bool reverse;          /* last to first; the bounds keep their meaning */
    bool yields;           /* kx_scan_next may return KX_AGAIN */
    /* JSON Pointers of the only members that the caller needs; count 0: all. If
     * an index stores them, its entries are not read, and other members may be
     * missing. They must stay valid until the end of the scan. */
    const struct kx_slice *fields;
    size_t field_count;
    bool count_only; /* entries are only counted: their contents may be left
                      * undefined */
};

/* Begins a scan; a reader has at most one. KX_OK, KX_FAILED;
 * KX_INDEX_NOT_READY: the range lies within the entries of an index that is not
 * ready. */
enum kx_status kx_scan(struct kx_reader *reader, const struct kx_range *range,
                       struct kx_fault *fault);
/* Begins a scan of an index: start and end are relative to the index's name
 * (encoded parts after it, as kx_index_fold makes them; an empty end means no
 * upper bound); entries come in index order, each with the key, value and stamp
 * of the entry that the index points to. Also KX_INDEX_ABSENT. */
enum kx_status kx_scan_index(struct kx_reader *reader, struct kx_slice name,
                             const struct kx_range *range,
                             struct kx_fault *fault);
/* Returns the next entry, valid until the next call on the reader. KX_OK,
 * KX_END, KX_BUSY (too many expired entries in totals), KX_FAILED,
 * KX_NO_MEMORY, KX_UNREACHABLE; kx_scan_position is then the key to resume
 * after. KX_AGAIN, only for a range that yields: many hidden rows were skipped
 * (expired, or of a dropped index), or megabytes were read. Call again; or end
 * the view, so that commits can proceed, and resume after kx_scan_position in
 * another view. */
enum kx_status kx_scan_next(struct kx_reader *reader,
                            struct kx_entry *entry_out);
/* The position of the last entry in scan order: its own key or, for an index,
 * the index entry's key without the name. Valid until the next call on the
 * reader. */
struct kx_slice kx_scan_position(struct kx_reader *reader);
/* Returns when the job that the scan of a queue has returned last is due: Unix
 * time in ms, KX_JOB_DEAD_MS for a dead job. 0 if the index is not a queue. */
int64_t kx_scan_due(const struct kx_reader *reader);
/* Ends the scan. kx_read_end does this, too. */
void kx_scan_end(struct kx_reader *reader);

/* Registers a ticket for a flush number given by kx_read_end. KX_OK: the answer
 * function will be called with it. KX_END: that flush has already been done;
 * the ticket is not registered. KX_FAILED: the storage has failed; the data
 * read may never be on disk and must not be shown. Call kx_store_failed after
 * an answer, too. */
enum kx_status kx_wait(struct kx_store *store, uint64_t flush,
                       struct kx_ticket *ticket);

#endif
