/* Gathers bytes into chunks. A chunk is written when a byte after it has
 * arrived: only then is it known not to be the last one. */
#include <string.h>
#include <talloc.h>

#include "encryption/stream_format.h"

struct kx_encryption {
    crypto_secretstream_xchacha20poly1305_state stream;
    size_t size; /* bytes in chunk */
    uint8_t chunk[KX_CHUNK_BYTES];
    uint8_t sealed[STREAM_CHUNK_BYTES];
};

static int wipe(struct kx_encryption *encryption)
{
    sodium_memzero(encryption, sizeof *encryption);
    return 0;
}

/* Writes the header. Returns false if the key is not usable. */
static bool begin(struct kx_encryption *encryption,
                  const struct kx_public_key *key, struct kx_buffer *out)
{
    uint8_t file_key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    uint8_t sealed[STREAM_SEALED_BYTES], header[STREAM_HEADER_BYTES];
    crypto_secretstream_xchacha20poly1305_keygen(file_key);
    bool good =
        crypto_box_seal(sealed, file_key, sizeof file_key, key->bytes) == 0 &&
        crypto_secretstream_xchacha20poly1305_init_push(&encryption->stream,
                                                        header, file_key) == 0;
    sodium_memzero(file_key, sizeof file_key);
    kx_add(out, STREAM_MAGIC, STREAM_MAGIC_BYTES);
    kx_add(out, sealed, sizeof sealed);
    kx_add(out, header, sizeof header);
    return good && !out->failed;
}

struct kx_encryption *kx_encrypt_begin(void *memory,
                                       const struct kx_public_key *key,
                                       struct kx_buffer *out)
{
    if (sodium_init() < 0)
        return NULL;
    struct kx_encryption *encryption =
        talloc_zero(memory, struct kx_encryption);
    if (encryption == NULL)
        return NULL;
    talloc_set_destructor(encryption, wipe);
    if (begin(encryption, key, out))
        return encryption;
    talloc_free(encryption);
    return NULL;
}

static bool write_chunk(struct kx_encryption *encryption, bool last,
                        struct kx_buffer *out)
{
    unsigned long long size = 0;
    crypto_secretstream_xchacha20poly1305_push(
        &encryption->stream, encryption->sealed, &size, encryption->chunk,
        encryption->size, NULL, 0,
        last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
             : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
    kx_add(out, encryption->sealed, (size_t)size);
    encryption->size = 0;
    return !out->failed;
}

bool kx_encrypt_add(struct kx_encryption *encryption, struct kx_slice bytes,
                    struct kx_buffer *out)
{
    bool good = true;
    while (good && bytes.size > 0) {
        if (encryption->size == KX_CHUNK_BYTES)
            good = write_chunk(encryption, false, out);
        size_t space = KX_CHUNK_BYTES - encryption->size;
        size_t size = bytes.size < space ? bytes.size : space;
        memcpy(encryption->chunk + encryption->size, bytes.data, size);
        encryption->size += size;
        bytes = kx_slice(bytes.data + size, bytes.size - size);
    }
    return good;
}

bool kx_encrypt_end(struct kx_encryption *encryption, struct kx_buffer *out)
{
    return write_chunk(encryption, true, out);
}
