/* The byte encoding of keys: the tuple encoding of Deno KV, in which the order
 * of the bytes is the order of the parts. Each part begins with a tag. Bytes
 * and strings end with a zero byte; a zero inside is followed by FF. The size
 * of a bigint is in its tag or in the byte after it. Numbers have eight bytes.
 * Numbers and bigints are transformed so that smaller ones have smaller
 * bytes. */
#include <math.h>

#include "kindex/key.h"
#include "kindex/text.h"

enum {
    TAG_BYTES = 0x01,
    TAG_STRING = 0x02,
    TAG_NEGATIVE_LONG = 0x0b, /* bigint of more than eight bytes */
    TAG_ZERO = 0x14,          /* bigint; 0x14 + n and 0x14 - n have n bytes */
    TAG_POSITIVE_LONG = 0x1d,
    TAG_NUMBER = 0x21,
    TAG_FALSE = 0x26,
    TAG_TRUE = 0x27,
    ZERO_ESCAPE = 0xff, /* after a zero byte that is not the end */
    BIGINT_SHORT = 8,   /* largest size of a bigint that the tag holds */
    NUMBER_SIZE = 9
};
#define SIGN_BIT (UINT64_C(1) << 63)
#define NAN_BITS UINT64_C(0x7ff8000000000000) /* of the NaN without sign */

/* ---- Writing ------------------------------------------------------------ */

/* After a single addition, which leaves the key unchanged if it fails. */
static enum kx_status added(const struct kx_buffer *key)
{
    return key->failed ? KX_NO_MEMORY : KX_OK;
}

static const uint8_t *find_zero(const uint8_t *data, const uint8_t *end)
{
    return memchr(data, 0, (size_t)(end - data));
}

static size_t count_zeros(struct kx_slice bytes)
{
    if (bytes.size == 0) /* then data may be NULL */
        return 0;
    const uint8_t *end = bytes.data + bytes.size;
    const uint8_t *zero = find_zero(bytes.data, end);
    size_t count = 0;
    for (; zero != NULL; zero = find_zero(zero + 1, end))
        count++;
    return count;
}

static void put_escaped(uint8_t *out, struct kx_slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        *out++ = bytes.data[i];
        if (bytes.data[i] == 0)
            *out++ = ZERO_ESCAPE;
    }
}

/* Appends the tag, the bytes with each zero escaped, and the final zero. So a
 * part that is the beginning of another sorts before it. All memory is reserved
 * first, so that a key never has half a part. */
static enum kx_status add_terminated(struct kx_buffer *key, uint8_t tag,
                                     struct kx_slice bytes)
{
    size_t zeros = count_zeros(bytes);
    size_t size = bytes.size + zeros + 2;
    if (!kx_buffer_reserve(key, size))
        return KX_NO_MEMORY;
    uint8_t *out = key->data + key->size;
    out[0] = tag;
    if (zeros > 0)
        put_escaped(out + 1, bytes);
    else if (bytes.size > 0)
        memcpy(out + 1, bytes.data, bytes.size);
    out[size - 1] = 0;
    key->size += size;
    return KX_OK;
}

enum kx_status kx_key_add_string(struct kx_buffer *key, struct kx_slice utf8)
{
    if (!kx_utf8_valid(utf8))
        return KX_BAD_KEY;
    return add_terminated(key, TAG_STRING, utf8);
}

enum kx_status kx_key_add_bytes(struct kx_buffer *key, struct kx_slice bytes)
{
    return add_terminated(key, TAG_BYTES, bytes);
}

/* A positive number gets its sign bit set, a negative one has all bits
 * inverted. So the bytes have the order of the numbers, with -0 before 0. All
 * NaNs of one sign are the same key. */
enum kx_status kx_key_add_number(struct kx_buffer *key, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    if (isnan(number))
        bits = (bits & SIGN_BIT) | NAN_BITS;
    bits = bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;

    uint8_t encoded[NUMBER_SIZE] = {TAG_NUMBER};
    for (int i = NUMBER_SIZE - 1; i > 0; i--) {
        encoded[i] = (uint8_t)bits;
        bits >>= 8;
    }
    kx_add(key, encoded, sizeof(encoded));
    return added(key);
}

enum kx_status kx_key_add_boolean(struct kx_buffer *key, bool boolean)
{
    kx_add_byte(key, boolean ? TAG_TRUE : TAG_FALSE);
    return added(key);
}

static struct kx_slice without_zeros(struct kx_slice magnitude)
{
    while (magnitude.size > 0 && magnitude.data[0] == 0) {
        magnitude.data++;
        magnitude.size--;
    }
    return magnitude;
}

static void put_inverted(uint8_t *out, struct kx_slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        out[i] = (uint8_t)~bytes.data[i];
}

/* The size comes first, so that a magnitude of more bytes sorts as larger. For
 * negative numbers, size and bytes are inverted. Zero has no bytes and no
 * sign. */
static enum kx_status add_magnitude(struct kx_buffer *key,
                                    struct kx_slice magnitude, bool negative)
{
    magnitude = without_zeros(magnitude);
    if (magnitude.size > KX_BIGINT_MAX)
        return KX_BAD_KEY;
    uint8_t size = (uint8_t)magnitude.size;
    uint8_t encoded[2 + KX_BIGINT_MAX];
    size_t head = 1;
    if (size <= BIGINT_SHORT) {
        encoded[0] = (uint8_t)(negative ? TAG_ZERO - size : TAG_ZERO + size);
    } else {
        encoded[0] = negative ? TAG_NEGATIVE_LONG : TAG_POSITIVE_LONG;
        encoded[1] = negative ? (uint8_t)~size : size;
        head = 2;
    }
    if (negative)
        put_inverted(encoded + head, magnitude);
    else if (size > 0)
        memcpy(encoded + head, magnitude.data, size);
    kx_add(key, encoded, head + size);
    return added(key);
}

enum kx_status kx_key_add(struct kx_buffer *key, const struct kx_part *part)
{
    switch (part->type) {
    case KX_BYTES_PART:
        return kx_key_add_bytes(key, part->bytes);
    case KX_STRING:
        return kx_key_add_string(key, part->bytes);
    case KX_BIGINT:
        return add_magnitude(key, part->bytes, part->negative);
    case KX_NUMBER:
        return kx_key_add_number(key, part->number);
    case KX_BOOLEAN:
        return kx_key_add_boolean(key, part->boolean);
    }
    return KX_BAD_KEY;
}

/* ---- Measuring ---------------------------------------------------------- */

static bool is_bigint(uint8_t tag)
{
    return tag >= TAG_NEGATIVE_LONG && tag <= TAG_POSITIVE_LONG;
}

/* Bytes of an encoded bigint before its magnitude. */
static size_t bigint_head(uint8_t tag)
{
    return tag == TAG_NEGATIVE_LONG || tag == TAG_POSITIVE_LONG ? 2 : 1;
}

/* The size of a bigint by its head; 0 if the head is incomplete. The size may
 * exceed rest: the caller checks it. */
static size_t bigint_size(struct kx_slice rest)
{
    uint8_t tag = rest.data[0];
    size_t head = bigint_head(tag);
    if (rest.size < head)
        return 0;
    if (tag == TAG_NEGATIVE_LONG)
        return head + (uint8_t)~rest.data[1];
    if (tag == TAG_POSITIVE_LONG)
        return head + rest.data[1];
    return head + (size_t)(tag < TAG_ZERO ? TAG_ZERO - tag : tag - TAG_ZERO);
}

/* Text is checked in the pieces between zeros, since no character but NUL has a
 * zero byte. *escaped_out: the part has an escaped zero. */
static size_t terminated_size(struct kx_slice rest, bool *escaped_out)
{
    bool is_text = rest.data[0] == TAG_STRING;
    const uint8_t *end = rest.data + rest.size;
    const uint8_t *piece = rest.data + 1;
    *escaped_out = false;
    for (;;) {
        const uint8_t *zero = find_zero(piece, end);
        if (zero == NULL)
            return 0;
        if (is_text && !kx_utf8_valid(kx_slice(piece, (size_t)(zero - piece))))
            return 0;
        piece = zero + 1;
        if (piece == end || *piece != ZERO_ESCAPE)
            return (size_t)(piece - rest.data);
        *escaped_out = true;
        piece++;
    }
}

static size_t fixed_size(uint8_t tag)
{
    switch (tag) {
    case TAG_NUMBER:
        return NUMBER_SIZE;
    case TAG_FALSE:
    case TAG_TRUE:
        return 1;
    default:
        return 0;
    }
}

/* The size of the first part, or 0 if it is not valid. Never reads past rest:
 * keys from cursors and other programs are checked here before any other
 * use. */
static size_t part_size(struct kx_slice rest, bool *escaped_out)
{
    *escaped_out = false;
    if (rest.size == 0)
        return 0;
    uint8_t tag = rest.data[0];
    if (tag == TAG_BYTES || tag == TAG_STRING)
        return terminated_size(rest, escaped_out);
    size_t size = is_bigint(tag) ? bigint_size(rest) : fixed_size(tag);
    return size <= rest.size ? size : 0;
}

size_t kx_part_size(struct kx_slice rest)
{
    bool escaped;
    return part_size(rest, &escaped);
}

static uint64_t read_bits(const uint8_t *encoded)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | encoded[i];
    return bits & SIGN_BIT ? bits & ~SIGN_BIT : ~bits;
}

static double read_number(const uint8_t *encoded)
{
    uint64_t bits = read_bits(encoded);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* A magnitude has no leading zeros, and up to BIGINT_SHORT bytes its size is in
 * the tag. */
static bool is_canonical_bigint(struct kx_slice encoded)
{
    uint8_t tag = encoded.data[0];
    size_t head = bigint_head(tag);
    size_t size = encoded.size - head;
    uint8_t zero = tag < TAG_ZERO ? 0xff : 0;
    return (head == 1 || size > BIGINT_SHORT) &&
           (size == 0 || encoded.data[head] != zero);
}

/* True if the valid part is encoded exactly as kx_key_add does it. */
static bool is_canonical(struct kx_slice encoded)
{
    uint8_t tag = encoded.data[0];
    if (is_bigint(tag))
        return is_canonical_bigint(encoded);
    return tag != TAG_NUMBER || !isnan(read_number(encoded.data + 1)) ||
           (read_bits(encoded.data + 1) & ~SIGN_BIT) == NAN_BITS;
}

enum kx_status kx_key_check(struct kx_slice key, struct kx_fault *fault)
{
    if (key.size == 0)
        return kx_fail(fault, KX_BAD_KEY, "the key has no parts");
    if (key.size > KX_KEY_MAX)
        return kx_fail(fault, KX_KEY_TOO_LONG,
                       "the key has %zu encoded bytes, the limit is %d",
                       key.size, KX_KEY_MAX);
    size_t at = 0;
    for (size_t part = 0; at < key.size; part++) {
        size_t size = kx_part_size(kx_slice(key.data + at, key.size - at));
        if (size == 0)
            return kx_fail(fault, KX_BAD_KEY,
                           "part %zu of the key, at byte %zu of its encoding, "
                           "cannot be decoded",
                           part, at);
        if (!is_canonical(kx_slice(key.data + at, size)))
            return kx_fail(fault, KX_BAD_KEY,
                           "part %zu of the key, at byte %zu of its encoding, "
                           "is not encoded as Deno KV encodes it",
                           part, at);
        at += size;
    }
    return KX_OK;
}

/* ---- Reading ------------------------------------------------------------ */

void kx_key_read(struct kx_key_reader *reader, struct kx_slice key)
{
    reader->rest = key;
}

/* Copies the bytes of a part to scratch without their escapes. False if they do
 * not fit, which cannot happen for a checked key. */
static bool unescape(struct kx_slice inner, uint8_t *scratch,
                     struct kx_slice *bytes_out)
{
    size_t size = 0;
    for (size_t i = 0; i < inner.size; i++) {
        if (size == KX_KEY_MAX)
            return false;
        scratch[size++] = inner.data[i];
        if (inner.data[i] == 0)
            i++; /* over the FF */
    }
    *bytes_out = kx_slice(scratch, size);
    return true;
}

/* Leading zeros of a magnitude are never written; they are ignored here. */
static void read_bigint(struct kx_slice encoded, uint8_t *scratch,
                        struct kx_part *part)
{
    size_t head = bigint_head(encoded.data[0]);
    struct kx_slice bytes = kx_slice(encoded.data + head, encoded.size - head);
    part->negative = encoded.data[0] < TAG_ZERO;
    if (part->negative) {
        put_inverted(scratch, bytes);
        bytes.data = scratch;
    }
    part->bytes = without_zeros(bytes);
    if (part->bytes.size == 0)
        part->negative = false;
}

/* Sets the members of part_out one by one: building a struct and copying it
 * takes four times as long. */
enum kx_status kx_key_next(struct kx_key_reader *reader,
                           struct kx_part *part_out)
{
    if (reader->rest.size == 0)
        return KX_END;
    bool escaped;
    size_t size = part_size(reader->rest, &escaped);
    if (size == 0)
        return KX_BAD_KEY;
    struct kx_slice encoded = kx_slice(reader->rest.data, size);
    uint8_t tag = encoded.data[0];
    part_out->type = KX_BOOLEAN;
    part_out->bytes = kx_slice(NULL, 0);
    part_out->negative = false;
    part_out->boolean = tag == TAG_TRUE;
    part_out->number = 0;
    if (tag == TAG_BYTES || tag == TAG_STRING) {
        part_out->type = tag == TAG_STRING ? KX_STRING : KX_BYTES_PART;
        part_out->bytes = kx_slice(encoded.data + 1, size - 2);
        if (escaped &&
            !unescape(part_out->bytes, reader->scratch, &part_out->bytes))
            return KX_BAD_KEY;
    } else if (is_bigint(tag)) {
        part_out->type = KX_BIGINT;
        read_bigint(encoded, reader->scratch, part_out);
    } else if (tag == TAG_NUMBER) {
        part_out->type = KX_NUMBER;
        part_out->number = read_number(encoded.data + 1);
    }
    reader->rest.data += size;
    reader->rest.size -= size;
    return KX_OK;
}

void kx_key_index_name(struct kx_slice key, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, key);
    if (kx_key_next(&reader, &part) == KX_OK && part.type == KX_STRING)
        kx_add_slice(out, part.bytes);
}
