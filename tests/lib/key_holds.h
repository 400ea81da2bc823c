/* Properties of every key: the order of its parts, and that reading and writing
 * it gives the same key. */
#ifndef KEY_HOLDS_H
#define KEY_HOLDS_H

#include "kindex.h"
#include "unit.h"

/* Orders two parts by their types and values: < 0, 0 or > 0. */
int key_compare_parts(const struct kx_part *a, const struct kx_part *b);

/* Reads any bytes, and writes the parts into `again`. True: they
 * are a key, and so is what was written. */
bool key_read_again(struct kx_slice key, struct kx_buffer *again);

#endif
