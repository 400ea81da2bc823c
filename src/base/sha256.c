/* Nettle's SHA-256 with its digits. */
#include "base/sha256.h"

#include <stdio.h>

void sha256_begin(struct sha256 *digest)
{
    sha256_init(&digest->state);
}

void sha256_add(struct sha256 *digest, struct kx_slice bytes)
{
    sha256_update(&digest->state, bytes.size, bytes.data);
}

void sha256_end(struct sha256 *digest, char *out)
{
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(&digest->state, sizeof bytes, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
