/* A bounded look at the entries with a prefix: all of them when they are few,
 * else runs of neighbours at places spread over their keys. Writer thread only.
 */
#ifndef ENTRY_SAMPLE_H
#define ENTRY_SAMPLE_H

#include "commit/store_state.h"

/* A sample blocks the writer, so its cost in bytes is limited, too. */
enum { ENTRY_SAMPLE_MAX = 2000, ENTRY_SAMPLE_COST_MAX = 16 << 20 };

/* Is given each stored entry, in key order, none twice; its slices are valid
 * until it returns. Anything but KX_OK ends the sample. */
typedef enum kx_status entry_sample_fn(void *context, struct kx_slice key,
                                       const struct record *record);

struct sampling {
    struct kx_slice prefix; /* encoded parts */
    uint64_t total;         /* about how many entries there are */
    entry_sample_fn *take;
    void *context;
    uint64_t cost; /* bytes read; `take` may add what it does besides */
    /* Result. */
    bool all;      /* every entry was given */
    uint64_t rows; /* that were passed, of indexes as well */
    double share;  /* of the table that these are, as it tells it; 0: unknown */
};

/* Gives at most ENTRY_SAMPLE_MAX clients' entries that have not expired. KX_OK,
 * what `take` gave, KX_NO_MEMORY, KX_FAILED. */
enum kx_status entry_sample_entries(struct kx_store *store,
                                    struct sampling *sample);

#endif
