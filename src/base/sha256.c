/* SHA-256 of Nettle, printed as hexadecimal digits. */
#include "base/sha256.h"

#include "kindex/text.h"

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
    kx_hex_write(kx_slice(bytes, sizeof bytes), out);
}

void kx_sha256(struct kx_slice bytes, uint8_t *out)
{
    struct sha256 digest;
    sha256_begin(&digest);
    sha256_add(&digest, bytes);
    sha256_digest(&digest.state, KX_SHA256_SIZE, out);
}

void kx_digest_entry(uint8_t *digest, struct kx_slice key, uint64_t stamp)
{
    struct sha256 next;
    uint8_t number[sizeof stamp];
    for (size_t i = 0; i < sizeof stamp; i++)
        number[i] = (uint8_t)(stamp >> (8 * (sizeof stamp - 1 - i)));
    sha256_begin(&next);
    sha256_add(&next, kx_slice(digest, KX_SHA256_SIZE));
    sha256_add(&next, kx_slice(number, sizeof number));
    sha256_add(&next, key);
    sha256_digest(&next.state, KX_SHA256_SIZE, digest);
}
