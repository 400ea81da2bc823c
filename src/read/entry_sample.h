/* A bounded sample of the entries with a prefix: all of them if they are few,
 * otherwise runs of neighbours at places spread over their keys. Writer thread
 * only. */
#ifndef ENTRY_SAMPLE_H
#define ENTRY_SAMPLE_H

#include "commit/writer_state.h"

/* A sample blocks the writer, so its cost in bytes is limited, too. */
enum { ENTRY_SAMPLE_MAX = 2000, ENTRY_SAMPLE_COST_MAX = 16 << 20 };

/* Called with each sampled entry in key order, with none twice; the slices are
 * valid until it returns. A result other than KX_OK ends the sample. */
typedef enum kx_status entry_sample_fn(void *context, struct kx_slice key,
                                       const struct record *record);

struct sampling {
    struct kx_slice prefix; /* encoded parts */
    uint64_t total;         /* estimated number of entries */
    entry_sample_fn *take;
    void *context;
    uint64_t cost; /* bytes read; `take` may add the cost of its work */
    /* Result. */
    bool all;      /* every entry was given */
    uint64_t rows; /* read, those of indexes included */
    double share;  /* of the table that these rows take; 0: unknown */
};

/* Calls `take` with at most ENTRY_SAMPLE_MAX clients' entries that have not
 * expired. KX_OK, the error of `take`, KX_NO_MEMORY, KX_FAILED. */
enum kx_status entry_sample_entries(struct writer *writer,
                                    struct sampling *sample);

#endif
