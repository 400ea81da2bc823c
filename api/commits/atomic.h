/* The document of POST /atomic as checks and mutations of a struct kx_commit.
 * atomic_read.c reads it and atomic.c answers it, so that tests can read a
 * document without a request. */
#ifndef API_ATOMIC_H
#define API_ATOMIC_H

#include "http/input_error.h"

struct atomic {
    void *memory; /* talloc context of all that is made */
    struct kx_check *checks;
    size_t check_count;
    struct kx_mutation *mutations;
    size_t mutation_count;
    struct kx_mutation *acks; /* for atomic_read: the receipts in `ack` */
    size_t ack_count;         /* mutations before all others that are acks */
    bool dry;                 /* compute the result, store nothing */
    bool deep;                /* the document is deeper than a value may be */
};

/* Reads the document, which body_document accepted. The caller sets memory and
 * deep of *atomic_out. Plain JSON values are slices of the document, so the
 * document must outlive the commit; keys, stamps and typed values are allocated
 * in memory. Returns false on an error: error->code is the problem for the
 * member, key, value or time to live that is wrong, or
 * PROBLEM_COMMIT_TOO_LARGE, and the error's pointer names the place in the
 * document. */
bool atomic_read(struct kx_slice document, struct atomic *atomic_out,
                 struct input_error *error);

/* Reads one mutation as atomic_read does, with memory and deep of *atomic. */
bool atomic_read_mutation(const struct atomic *atomic, struct kx_slice value,
                          struct kx_mutation *mutation,
                          struct input_error *error);

/* Reads an entry as lists show it into a mutation that sets it. Its
 * versionstamp is ignored, because the commit gives it another one. */
bool atomic_read_entry(const struct atomic *atomic, struct kx_slice value,
                       struct kx_mutation *mutation, struct input_error *error);

#endif
