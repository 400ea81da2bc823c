/* One job of a verification, shared by its files. Writer thread only. */
#ifndef VERIFY_STATE_H
#define VERIFY_STATE_H

#include "plan/plan.h"
#include "catalog/row_source.h"
#include "commit/writer_state.h"

/* Everything is allocated in mem, except plan and next, which pass to the store
 * and to the index. */
struct verify {
    struct writer *writer;
    struct index *index;
    void *mem;
    struct plan *plan;          /* the repairs; NULL: none are made */
    struct verify_report *next; /* the verification after this job */
    int64_t entries;            /* added to the index's count */
    size_t looked_up;           /* rows of entries that were read so far */
    size_t looked_up_bytes;
    struct row_source source;
    struct row_source other_source; /* of the present owner of a row */
    struct kx_buffer made;
    struct kx_buffer row; /* as it is stored */
};

/* Compare a stored row under the name of the index with its entry, and an entry
 * under the prefix with its rows. They note what is wrong in job->next, and
 * repair it in job->plan. KX_OK, errors of the storage. */
enum kx_status verify_row(struct verify *job, struct kx_slice key,
                          struct kx_slice bytes);
enum kx_status verify_entry(struct verify *job, struct kx_slice key,
                            struct kx_slice bytes);

/* Notes the damage under index_key. If it is to be repaired, writes job->made
 * there (size 0: deletes the row). count: by how much that changes the number
 * of index entries. key: of the entry concerned, or empty. */
enum kx_status verify_found(struct verify *job, enum kx_damage damage,
                            struct kx_slice index_key, struct kx_slice key,
                            int64_t count);
/* The same for a client's entry under the name of the index: it is deleted. */
enum kx_status verify_found_foreign(struct verify *job,
                                    struct kx_slice index_key);

/* May a job that has read so many rows, of at most `limit`, read another? */
bool verify_reads_on(const struct verify *job, size_t read, size_t limit);

/* verify_prefetch.c: reads ahead what this row of job->writer->base.range, and
 * the rows after it, are compared with. Returns for how many rows, from this
 * one on, it has to be asked no more than once. */
size_t verify_prefetch(struct verify *job, struct kx_slice key,
                       struct kx_slice bytes);

/* verify_totals.c: the next step for an aggregate index, of at most `limit`
 * rows. KX_END: all is compared. */
enum kx_status verify_totals(struct verify *job, size_t limit);

#endif
