/* Counts the entries that an index leaves out while a job reads the entries
 * that the index covers, in steps between commits: a build, whose stored
 * progress does not have these entries yet, or a verification. Each commit
 * changes the numbers as soon as it is applied, as far as the job has read, so
 * they are exact between two batches. Nothing is stored. Writer thread only. */
#ifndef LEFT_OUT_TALLY_H
#define LEFT_OUT_TALLY_H

#include "commit/writer_state.h"

struct left_out_tally;

/* Returns whether the job has read the entry with this key. */
typedef bool left_out_has_read_fn(const struct left_out_tally *tally,
                                  const struct index *index,
                                  struct kx_slice key);

struct left_out_tally {
    struct change_listener listener; /* the first member */
    struct writer *writer;
    uint32_t id; /* of the index */
    left_out_has_read_fn *has_read;
    const void *job; /* for has_read */
    bool lost;       /* memory ran out: the numbers are wrong */
    struct extract extract;
    int64_t counts[KX_LEFT_OUT_REASONS];
};

/* Begins to count, from 0. The tally is a talloc child of mem; free it to stop.
 * Returns NULL if memory ran out. */
struct left_out_tally *left_out_tally_begin(const void *mem,
                                            struct writer *writer,
                                            const struct index *index,
                                            left_out_has_read_fn *has_read,
                                            const void *job);

/* Counts an entry that the job has read, if extract_keys has found no key. */
void left_out_tally_add(struct left_out_tally *tally,
                        const struct extract *extract);

#endif
