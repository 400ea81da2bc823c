/* The check of V8 values that come from outside. In addition to the reader's
 * checks, no object may have two members with the same name: V8 never writes
 * them, and JSON cannot show them.
 *
 * Names are compared by 64-bit hashes alone. A random collision of two names is
 * negligible. */
#include <stdlib.h>

#include "json/json_string.h"
#include "v8/v8_reader.h"

/* The hashes of the names in all open objects, as one stack; `note` of an
 * object's frame is the number of hashes before its own. */
struct names {
    struct kx_buffer hashes;
};

static size_t count_of(const struct names *names)
{
    return names->hashes.size / sizeof(uint64_t);
}

static inline uint64_t add_unit(uint64_t hash, uint32_t unit)
{
    hash = (hash ^ unit) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Hashes the UTF-16 units of a string, so that the hash does not depend on its
 * encoding. */
static uint64_t hash_of(const struct v8_string *string)
{
    struct kx_slice bytes = string->bytes;
    uint64_t hash = 1;
    switch (string->charset) {
    case V8_LATIN1:
        for (size_t i = 0; i < bytes.size; i++)
            hash = add_unit(hash, bytes.data[i]);
        break;
    case V8_UTF16:
        for (size_t i = 0; i + 1 < bytes.size; i += 2)
            hash = add_unit(hash,
                            bytes.data[i] | (uint32_t)bytes.data[i + 1] << 8);
        break;
    case V8_UTF8:
        while (bytes.size > 0) {
            uint32_t point = json_string_next_plain(&bytes);
            if (point >= 0x10000) {
                hash = add_unit(hash, 0xd7c0 + (point >> 10));
                point = 0xdc00 + (point & 0x3ff);
            }
            hash = add_unit(hash, point);
        }
        break;
    }
    return hash;
}

static bool add_name(struct names *names, const struct v8_token *token)
{
    char digits[32];
    struct v8_string string = token->string;
    if (token->kind == V8_NUMBER) {
        double number = token->number == 0 ? 0 : token->number;
        size_t size = kx_number_text(number, digits);
        string = (struct v8_string){.bytes = kx_slice(digits, size),
                                    .charset = V8_LATIN1};
    }
    uint64_t hash = hash_of(&string);
    kx_add(&names->hashes, &hash, sizeof hash);
    return !names->hashes.failed;
}

enum { FEW = 16 };

static bool any_twice_of_few(const uint64_t *hashes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (hashes[i] == hashes[k])
                return true;
    return false;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Closes an object whose names begin at `first`. False if two are equal. */
static bool close_names(struct names *names, size_t first)
{
    uint64_t *hashes = (uint64_t *)(void *)names->hashes.data + first;
    size_t count = count_of(names) - first;
    names->hashes.size = first * sizeof *hashes;
    if (count <= FEW)
        return !any_twice_of_few(hashes, count);
    qsort(hashes, count, sizeof *hashes, by_size);
    for (size_t i = 1; i < count; i++)
        if (hashes[i - 1] == hashes[i])
            return false;
    return true;
}

/* At a V8_END, the closed container's frame is still valid, one above the
 * top. */
static bool take_token(struct v8_reader *reader, const struct v8_token *token,
                       struct names *names)
{
    if (token->role == V8_NAME) {
        if (add_name(names, token))
            return true;
        reader->status = KX_NO_MEMORY;
        return false;
    }
    if (token->kind == V8_END)
        return close_names(names, reader->frames[reader->depth + 1].note) ||
               v8_wrong(reader, "an object has two members of one name");
    if (token->kind >= V8_OBJECT)
        v8_top(reader)->note = (uint32_t)count_of(names);
    return true;
}

enum kx_status kx_v8_check(struct kx_slice bytes, const void *memory,
                           struct kx_fault *fault)
{
    struct v8_reader reader;
    struct v8_token token;
    struct names names;
    kx_buffer_init(&names.hashes, memory);
    enum kx_status status = v8_open(&reader, bytes, memory);
    while (status == KX_OK) {
        status = v8_next(&reader, &token);
        if (status == KX_OK && !take_token(&reader, &token, &names))
            status = reader.status;
    }
    if (status != KX_END)
        v8_fault(&reader, fault);
    kx_buffer_free(&names.hashes);
    v8_close(&reader);
    return status == KX_END ? KX_OK : status;
}
