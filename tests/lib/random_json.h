/* Random JSON texts: small, valid, with few names so that they meet again. */
#ifndef RANDOM_JSON_H
#define RANDOM_JSON_H

#include "kindex.h"
#include "unit.h"

/* One of the texts. */
const char *random_of(uint64_t *seed, const char *const *texts, size_t count);

/* Appends a valid text with at most `depth` arrays and objects in each other.
 */
void random_json(uint64_t *seed, unsigned depth, struct kx_buffer *out);

#endif
