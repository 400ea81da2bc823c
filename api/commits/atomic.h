/* The document of POST /atomic as checks and mutations: what a struct kx_commit
 * takes. Reading it (atomic_read.c) is apart from answering it (atomic.c),
 * so that a document can be tested without a request. */
#ifndef API_ATOMIC_H
#define API_ATOMIC_H

#include "http/input_error.h"

struct atomic {
    void *memory; /* talloc context of all that is made */
    struct kx_check *checks;
    size_t check_count;
    struct kx_mutation *mutations;
    size_t mutation_count;
    bool dry;  /* find out the result, store nothing */
    bool deep; /* the document is deeper than a value may be */
};

/* Reads the document, which body_document accepted. Plain JSON values are
 * slices of it, so it must outlive the commit; keys, stamps and typed values
 * lie in atomic_out->memory, which the caller sets, as it does deep. On a
 * error returns false: its code is that of a bad member, key, value or time to
 * live, or PROBLEM_COMMIT_TOO_LARGE, and its pointer leads to the place in the
 * document. */
bool atomic_read(struct kx_slice document, struct atomic *atomic_out,
                 struct input_error *error);

/* Reads one mutation as atomic_read does: memory and deep of the document are
 * used. */
bool atomic_read_mutation(const struct atomic *atomic, struct kx_slice value,
                          struct kx_mutation *mutation,
                          struct input_error *error);

/* Reads an entry as lists show it, as a mutation that sets it. Its versionstamp
 * is left out: it gets another one. */
bool atomic_read_entry(const struct atomic *atomic, struct kx_slice value,
                       struct kx_mutation *mutation, struct input_error *error);

/* Reads one check, of which key and stamp lie in memory (a talloc context). On
 * an error returns false, as atomic_read. */
bool atomic_read_check(struct kx_slice value, void *memory,
                       struct kx_check *check, struct input_error *error);

/* The same for an entry that is named by its value in a unique index. */
bool atomic_read_by(struct kx_slice value, void *memory,
                    const struct kx_by **by_out, struct input_error *error);

#endif
