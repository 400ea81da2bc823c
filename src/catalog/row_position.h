/* The last row that a job has read. The next step of the job, also after a
 * restart, begins after this key. */
#ifndef ROW_POSITION_H
#define ROW_POSITION_H

#include "engine/engine.h"

struct row_position {
    uint8_t key[ROW_KEY_MAX];
    size_t size; /* 0: no row has been read */
};

static inline struct kx_slice row_position_key(const struct row_position *row)
{
    return kx_slice(row->key, row->size);
}

static inline void row_position_set(struct row_position *row,
                                    struct kx_slice key)
{
    if (key.size > 0)
        memcpy(row->key, key.data, key.size);
    row->size = key.size;
}

#endif
