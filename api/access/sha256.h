/* SHA-256 of one piece of bytes (FIPS 180-4). It allocates nothing and cannot
 * fail. Any thread. */
#ifndef API_SHA256_H
#define API_SHA256_H

#include <nettle/sha2.h>

#include "kindex.h"

/* Writes the digest to out (SHA256_DIGEST_SIZE bytes). */
static inline void sha256(struct kx_slice bytes, uint8_t *out)
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, bytes.size, bytes.data);
    sha256_digest(&context, SHA256_DIGEST_SIZE, out);
}

#endif
