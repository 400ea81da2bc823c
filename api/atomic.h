/* The document of POST /atomic as checks and mutations. */
#ifndef API_ATOMIC_H
#define API_ATOMIC_H

#include "flaw.h"

struct atomic {
    void *memory; /* talloc context of all that is made */
    struct kx_check *checks;
    size_t check_count;
    struct kx_mutation *mutations;
    size_t mutation_count;
    bool dry;
};

/* Reads the document, which kx_json_check accepted. Plain JSON values are
 * slices of it. atomic_out->memory is set by the caller. */
bool atomic_read(struct kx_slice document, struct atomic *atomic_out,
                 struct flaw *flaw);

#endif
