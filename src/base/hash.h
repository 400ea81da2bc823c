/* A fast hash of bytes. A client can choose keys that collide, so use this hash
 * only where collisions slow down no other client. */
#ifndef HASH_H
#define HASH_H

#include "kindex.h"

static const uint64_t HASH_FACTOR = UINT64_C(0x9e3779b97f4a7c15);

/* Adds a word to a hash. The multiplication carries bits upwards and the shift
 * brings them down again. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ hash >> 32;
}

/* Returns the hash of the bytes; all 64 bits are usable. */
static inline uint64_t hash_bytes(struct kx_slice bytes)
{
    uint64_t hash = bytes.size;
    uint64_t word = 0;
    size_t at = 0;
    for (; at + 8 <= bytes.size; at += 8) {
        memcpy(&word, bytes.data + at, 8);
        hash = hash_word(hash, word);
    }
    word = 0;
    memcpy(&word, bytes.data + at, bytes.size - at);
    return hash_word(hash_word(hash, word), UINT64_C(0x2545f4914f6cdd1d));
}

#endif
