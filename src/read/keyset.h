/* A set of keys with a small number for each, which does not hold the keys but
 * 62 bits of a hash of each: two of a million keys are taken for one with a
 * chance of one in ten million.
 *
 * One thread. */
#ifndef KEYSET_H
#define KEYSET_H

#include "kindex.h"

enum { KEYSET_MAX = 2000000 };

struct keyset;

/* An empty set under talloc context mem; NULL when memory ran out. */
struct keyset *keyset_create(void *mem);

/* Gives a key the number (1 to 3), or leaves it the higher one that it has.
 * KX_OK; KX_END: there are KEYSET_MAX others, and it was not added;
 * KX_NO_MEMORY. */
enum kx_status keyset_put(struct keyset *set, struct kx_slice key,
                          unsigned number);

/* The number of a key, 0 when it is not in the set. */
unsigned keyset_get(const struct keyset *set, struct kx_slice key);

#endif
