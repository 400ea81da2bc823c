/* A set of keys with a small number for each. It holds 62 bits of a hash of
 * each key, not the key: in a set of a million keys two are taken for one with
 * a probability of one in ten million.
 *
 * One thread. */
#ifndef KEY_HASH_SET_H
#define KEY_HASH_SET_H

#include "kindex.h"

enum { KEY_HASH_SET_MAX = 2000000 };

struct key_hash_set;

/* An empty set under talloc context mem; NULL when memory ran out. */
struct key_hash_set *key_hash_set_create(void *mem);

/* Gives a key the number (1 to 3), or leaves it the higher one that it has.
 * KX_OK; KX_END: there are KEY_HASH_SET_MAX others, and it was not added;
 * KX_NO_MEMORY. */
enum kx_status key_hash_set_put(struct key_hash_set *set, struct kx_slice key,
                                unsigned number);

/* The number of a key, 0 when it is not in the set. */
unsigned key_hash_set_get(const struct key_hash_set *set, struct kx_slice key);

#endif
