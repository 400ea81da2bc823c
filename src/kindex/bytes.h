/* Bytes: slices, which point to bytes of other objects, and buffers, which
 * grow. */
#ifndef KINDEX_BYTES_H
#define KINDEX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A reference to bytes that another object owns, valid as long as that object
 * keeps them. data may be NULL when size is 0. No NUL follows the last byte. */
struct kx_slice {
    const uint8_t *data;
    size_t size;
};

/* Return a slice of bytes, and a slice of a NUL-terminated text without its
 * NUL. */
static inline struct kx_slice kx_slice(const void *data, size_t size)
{
    return (struct kx_slice){.data = data, .size = size};
}

static inline struct kx_slice kx_text(const char *text)
{
    return kx_slice(text, strlen(text));
}

/* Compare in unsigned byte order, the order of keys; a prefix sorts first.
 * kx_compare returns < 0, 0 or > 0. */
int kx_compare(struct kx_slice a, struct kx_slice b);
bool kx_equal(struct kx_slice a, struct kx_slice b);
bool kx_starts_with(struct kx_slice whole, struct kx_slice prefix);

/* 64-bit FNV-1a: continues `hash`, which begins as KX_HASH_START, over these
 * bytes. The result is the same on every machine and in every version. Not safe
 * against chosen input. */
static const uint64_t KX_HASH_START = UINT64_C(0xcbf29ce484222325);
static const uint64_t KX_HASH_PRIME = UINT64_C(0x100000001b3);

static inline uint64_t kx_hash(uint64_t hash, struct kx_slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * KX_HASH_PRIME;
    return hash;
}

/* A growing byte string. When memory runs out, `failed` is set, the contents
 * stay as they were and further additions do nothing. So a sequence of
 * additions needs one check, at its end. */
struct kx_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    const void *owner; /* talloc context of data */
    bool failed;
};

/* Makes the buffer empty; its bytes will be allocated in owner (a talloc
 * context). */
void kx_buffer_init(struct kx_buffer *buffer, const void *owner);
/* Makes room for `more` bytes after size. False: out of memory. */
bool kx_buffer_reserve(struct kx_buffer *buffer, size_t more);
/* Shrinks the capacity to the size; the bytes may move. Does nothing if the
 * buffer is empty or memory to move the bytes ran out. */
void kx_buffer_fit(struct kx_buffer *buffer);
/* Frees the bytes earlier than their owner does; the buffer is then empty. */
void kx_buffer_free(struct kx_buffer *buffer);

/* Empties a buffer for reuse, keeping its capacity, and clears `failed`. */
static inline void kx_buffer_clear(struct kx_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

/* Append bytes, one byte, a slice, a NUL-terminated text without its NUL. The
 * appended bytes must not lie in the buffer itself, whose bytes may move. */
static inline void kx_add(struct kx_buffer *buffer, const void *data,
                          size_t size)
{
    if (buffer->capacity - buffer->size < size &&
        !kx_buffer_reserve(buffer, size))
        return;
    if (size != 0)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

static inline void kx_add_byte(struct kx_buffer *buffer, uint8_t byte)
{
    kx_add(buffer, &byte, 1);
}

static inline void kx_add_slice(struct kx_buffer *buffer, struct kx_slice slice)
{
    kx_add(buffer, slice.data, slice.size);
}

static inline void kx_add_text(struct kx_buffer *buffer, const char *text)
{
    kx_add(buffer, text, strlen(text));
}

/* Copies bytes to memory under mem (a talloc context). False if memory ran out:
 * *copy_out is then empty. */
bool kx_slice_copy(const void *mem, struct kx_slice bytes,
                   struct kx_slice *copy_out);

/* The contents of the buffer, valid until the next addition. */
static inline struct kx_slice kx_buffer_slice(const struct kx_buffer *buffer)
{
    return kx_slice(buffer->data, buffer->size);
}

/* Writes the SHA-256 digest of bytes (FIPS 180-4) to out, which holds
 * KX_SHA256_SIZE bytes. It allocates nothing and cannot fail. */
enum { KX_SHA256_SIZE = 32 };
void kx_sha256(struct kx_slice bytes, uint8_t *out);

/* Continues the digest of a range of entries, KX_SHA256_SIZE bytes that begin
 * as zeros, with the next entry: SHA-256 of the digest so far, the stamp as 8
 * bytes (most significant first) and the encoded key. Two digests are equal
 * only if the entries have the same keys and stamps in the same order. */
void kx_digest_entry(uint8_t *digest, struct kx_slice key, uint64_t stamp);

/* Writes a fingerprint of KX_FINGERPRINT_SIZE bytes of all parts, one after the
 * other: if the bytes differ, the fingerprints almost certainly differ. They
 * are the same on every machine and in every version. Not safe against chosen
 * input. Allocates nothing and cannot fail. */
enum { KX_FINGERPRINT_SIZE = 16 };
void kx_fingerprint(const struct kx_slice *parts, size_t count, uint8_t *out);

#endif
