/* What holds for keys of any origin: the order of their parts, and that
 * they can be read and written again. */
#ifndef KEY_HOLDS_H
#define KEY_HOLDS_H

#include "kindex.h"
#include "unit.h"

/* The order of two parts, by what they are. */
int key_compare_parts(const struct kx_part *a, const struct kx_part *b);

/* Reads any bytes, and writes the parts into `again`. True: they
 * are a key, and so is what was written. */
bool key_read_again(struct kx_slice key, struct kx_buffer *again);

#endif
