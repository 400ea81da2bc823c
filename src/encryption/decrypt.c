/* Gathers the header, then chunk after chunk. A chunk of full size may be the
 * last one, so a chunk is decrypted only when a byte after it has arrived or
 * the file has ended. */
#include <string.h>
#include <talloc.h>

#include "encryption/stream_format.h"

struct kx_decryption {
    struct kx_secret_key key;
    crypto_secretstream_xchacha20poly1305_state stream;
    bool begun;  /* the header has been read */
    size_t size; /* bytes in sealed */
    uint8_t sealed[STREAM_CHUNK_BYTES];
    uint8_t chunk[KX_CHUNK_BYTES];
};

bool kx_is_encrypted(struct kx_slice start)
{
    return kx_starts_with(start, kx_slice(STREAM_MAGIC, STREAM_MAGIC_BYTES));
}

static int wipe(struct kx_decryption *decryption)
{
    sodium_memzero(decryption, sizeof *decryption);
    return 0;
}

struct kx_decryption *kx_decrypt_begin(void *memory,
                                       const struct kx_secret_key *key)
{
    if (sodium_init() < 0)
        return NULL;
    struct kx_decryption *decryption =
        talloc_zero(memory, struct kx_decryption);
    if (decryption == NULL)
        return NULL;
    talloc_set_destructor(decryption, wipe);
    decryption->key = *key;
    return decryption;
}

/* Reads the complete header. */
static enum kx_status begin(struct kx_decryption *decryption,
                            struct kx_fault *fault)
{
    uint8_t file_key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    uint8_t public_key[KX_KEY_BYTES];
    const uint8_t *sealed = decryption->sealed + STREAM_MAGIC_BYTES;
    enum kx_status status = KX_OK;
    if (!kx_is_encrypted(kx_slice(decryption->sealed, STREAM_START_BYTES)))
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "it is not encrypted: restore it without a key");
    if (crypto_scalarmult_base(public_key, decryption->key.bytes) != 0 ||
        crypto_box_seal_open(file_key, sealed, STREAM_SEALED_BYTES, public_key,
                             decryption->key.bytes) != 0)
        status = kx_fail(fault, KX_BAD_ARCHIVE,
                         "it is encrypted for another key, or damaged");
    else if (crypto_secretstream_xchacha20poly1305_init_pull(
                 &decryption->stream, sealed + STREAM_SEALED_BYTES, file_key) !=
             0)
        status = kx_fail(fault, KX_BAD_ARCHIVE, "its beginning is damaged");
    sodium_memzero(file_key, sizeof file_key);
    decryption->begun = true;
    decryption->size = 0;
    return status;
}

/* Decrypts the gathered chunk. */
static enum kx_status read_chunk(struct kx_decryption *decryption, bool last,
                                 struct kx_buffer *out, struct kx_fault *fault)
{
    unsigned long long size = 0;
    unsigned char tag = 0;
    if (crypto_secretstream_xchacha20poly1305_pull(
            &decryption->stream, decryption->chunk, &size, &tag,
            decryption->sealed, decryption->size, NULL, 0) != 0)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "it was changed or cut after it was encrypted");
    bool final = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    if (last != final)
        return kx_fail(fault, KX_BAD_ARCHIVE, "%s",
                       last ? "it is incomplete: its end is missing"
                            : "data follow its end");
    kx_add(out, decryption->chunk, (size_t)size);
    decryption->size = 0;
    return out->failed ? KX_NO_MEMORY : KX_OK;
}

/* Reads the complete header or chunk that was gathered. */
static enum kx_status read_whole(struct kx_decryption *decryption,
                                 struct kx_buffer *out, struct kx_fault *fault)
{
    return decryption->begun ? read_chunk(decryption, false, out, fault)
                             : begin(decryption, fault);
}

enum kx_status kx_decrypt_add(struct kx_decryption *decryption,
                              struct kx_slice bytes, struct kx_buffer *out,
                              struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    while (status == KX_OK && bytes.size > 0) {
        size_t whole = decryption->begun ? (size_t)STREAM_CHUNK_BYTES
                                         : (size_t)STREAM_START_BYTES;
        if (decryption->size == whole) {
            status = read_whole(decryption, out, fault);
            continue;
        }
        size_t space = whole - decryption->size;
        size_t size = bytes.size < space ? bytes.size : space;
        memcpy(decryption->sealed + decryption->size, bytes.data, size);
        decryption->size += size;
        bytes = kx_slice(bytes.data + size, bytes.size - size);
    }
    return status;
}

enum kx_status kx_decrypt_end(struct kx_decryption *decryption,
                              struct kx_buffer *out, struct kx_fault *fault)
{
    if (!decryption->begun)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "it is no encrypted backup, or is cut");
    if (decryption->size < crypto_secretstream_xchacha20poly1305_ABYTES)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "it is incomplete: its end is missing");
    return read_chunk(decryption, true, out, fault);
}
