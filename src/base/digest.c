/* Nettle's SHA-256 with its digits. */
#include "base/digest.h"

#include <stdio.h>

void digest_begin(struct digest *digest)
{
    sha256_init(&digest->state);
}

void digest_add(struct digest *digest, struct kx_slice bytes)
{
    sha256_update(&digest->state, bytes.size, bytes.data);
}

void digest_end(struct digest *digest, char *out)
{
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(&digest->state, sizeof bytes, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
