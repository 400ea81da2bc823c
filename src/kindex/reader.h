/* Reads: one state of the store, seen by one thread. */
#ifndef KINDEX_READER_H
#define KINDEX_READER_H

#include "kindex/entry.h"
#include "kindex/store.h"

/* Reads of one thread. Between begin and end all calls see one state of the
 * store, and commits wait: keep it to a few milliseconds. open: KX_OK,
 * KX_NO_MEMORY. close: not inside a view; NULL is allowed. */
struct kx_reader;
enum kx_status kx_reader_open(struct kx_store *store,
                              struct kx_reader **reader_out);
void kx_reader_close(struct kx_reader *reader);

/* What a reader has read. */
struct kx_reads {
    uint64_t entries; /* rows looked at, those of indexes included */
    uint64_t bytes;   /* of them, as they are stored */
    char index[KX_INDEX_NAME_MAX + 1]; /* looked into last, or "" */
};
/* From now on what is read is added to *reads, which must stay where it is
 * until the next call; NULL: to nothing of the caller's. */
void kx_reader_count(struct kx_reader *reader, struct kx_reads *reads);

/* Begins a view. May wait a moment for a batch that is being applied, never for
 * the disk's flush. One view per thread at a time. */
void kx_read_begin(struct kx_reader *reader);
/* Ends the view, and a scan in it. Returns 0 when everything seen is on disk,
 * else the number of the flush after which it is: the reply must be kept back
 * until then (kx_wait), since a crash could still take back what it shows. */
uint64_t kx_read_end(struct kx_reader *reader);

/* The entry with this key: KX_OK, KX_ABSENT (of the key without parts always),
 * KX_INDEX_NOT_READY (fault says which index), KX_FAILED, KX_NO_MEMORY. The
 * entry's slices lie in `record`, whose former contents are replaced. */
enum kx_status kx_read(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault);

/* Lets the views of this reader begin without waiting, until kx_read_release,
 * for a thread that must not wait; they all see one state. False: a batch is
 * being applied. hold: the ticket will be answered when another try is worth
 * it. After that try, or instead of it, kx_read_tried is called once. Between
 * hold and release the thread may not submit anything. */
bool kx_read_hold(struct kx_reader *reader, struct kx_ticket *ticket);
bool kx_read_try_hold(struct kx_reader *reader);
void kx_read_tried(struct kx_store *store);
/* Harmless without a hold. Not inside a view. */
void kx_read_release(struct kx_reader *reader);

/* kx_read in a view of its own, with the result in fault->status. Returns what
 * kx_read_end would. It never waits: KX_AGAIN, when a batch is being applied
 * and the entry is not cached. */
uint64_t kx_read_alone(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault);

/* Bytes of the rows that this view has looked at, as they are stored. */
uint64_t kx_read_bytes(const struct kx_reader *reader);

struct kx_range {
    struct kx_slice start; /* inclusive */
    struct kx_slice end;   /* exclusive */
    struct kx_slice after; /* only what comes behind this in the direction of
                            * the scan: a kx_scan_position, of a scan of any
                            * time; empty: all */
    bool reverse;          /* last to first; the bounds keep their meaning */
    bool yields;           /* kx_scan_next may give up for now: KX_AGAIN */
    /* JSON Pointers: only these members of the values are needed. An index that
     * holds them is not followed; whatever else the values have may be missing.
     * None: all. They must live until the end of the scan. */
    const struct kx_slice *fields;
    size_t field_count;
    bool count_only; /* all of an entry but its being there may be left
                      * undefined */
};

/* Begins a scan; a reader has at most one. KX_OK, KX_INDEX_NOT_READY when the
 * range lies within the entries of such an index, KX_FAILED. */
enum kx_status kx_scan(struct kx_reader *reader, const struct kx_range *range,
                       struct kx_fault *fault);
/* Begins a scan of an index: start and end are relative to the index's name
 * (encoded parts after it, as kx_index_fold makes them; an empty end means no
 * upper bound); entries come in index order, each with the key, value and stamp
 * of the entry that the index points to. Also KX_INDEX_ABSENT. */
enum kx_status kx_scan_index(struct kx_reader *reader, struct kx_slice name,
                             const struct kx_range *range,
                             struct kx_fault *fault);
/* Next entry, valid until the next call on the reader: KX_OK, KX_END,
 * KX_FAILED. kx_scan_position is then the key to resume after. KX_AGAIN, for a
 * range that yields: many rows were passed over that nobody is to see (expired
 * ones, those of a dropped index), or megabytes were read. Call again, or end
 * the view and go on behind kx_scan_position in another one, so that others
 * have their turn. */
enum kx_status kx_scan_next(struct kx_reader *reader,
                            struct kx_entry *entry_out);
/* The key in scan order of the entry given last: its own key, or the index
 * entry's key without the name. Valid until the next call on the reader. */
struct kx_slice kx_scan_position(struct kx_reader *reader);
/* Ends the scan; the end of the view does so, too. */
void kx_scan_end(struct kx_reader *reader);

/* Registers a ticket for a flush number given by kx_read_end. KX_OK: the answer
 * function will be called with it. KX_END: that flush is done already, and the
 * ticket is not taken. KX_FAILED: the storage has failed, and what was seen may
 * never be on disk: it must not be shown. After an answer, too, ask
 * kx_store_failed. */
enum kx_status kx_wait(struct kx_store *store, uint64_t flush,
                       struct kx_ticket *ticket);

#endif
