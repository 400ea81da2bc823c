/* Comparisons as bounds of a scan. Bounds are inclusive below and exclusive
 * above; "greater than x" begins at the next part after x. A comparison
 * concerns one type, and so do its bounds. */
#include "read/index_match.h"

#include "schema/predicate.h"

static bool read_part(struct kx_slice encoded, struct kx_key_reader *reader,
                      struct kx_part *part_out)
{
    kx_key_read(reader, encoded);
    return kx_key_next(reader, part_out) == KX_OK;
}

/* Steps to the next larger magnitude, or with `down` to the next smaller one if
 * the magnitude is not 0. False on overflow. */
static bool step_magnitude(uint8_t *bytes, size_t size, bool down)
{
    for (size_t i = size; i-- > 0;) {
        bytes[i] = (uint8_t)(bytes[i] + (down ? -1 : 1));
        if (bytes[i] != (down ? 0xff : 0))
            return true;
    }
    return false;
}

static bool add_next_bigint(struct kx_part part, struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX + 1] = {0};
    size_t size = part.bytes.size + 1;
    memcpy(bytes + 1, part.bytes.data, part.bytes.size);
    step_magnitude(bytes, size, part.negative);
    part.bytes = kx_slice(bytes, size);
    return kx_key_add(out, &part) == KX_OK;
}

/* The next string or bytes part is the same with a zero appended. */
static bool add_longer(struct kx_part part, struct kx_buffer *out)
{
    struct kx_buffer longer;
    kx_buffer_init(&longer, out->owner);
    kx_add_slice(&longer, part.bytes);
    kx_add_byte(&longer, 0);
    part.bytes = kx_buffer_slice(&longer);
    bool done = !longer.failed && kx_key_add(out, &part) == KX_OK;
    kx_buffer_free(&longer);
    return done;
}

/* The encoding of a number has the order of numbers: the next one is the next
 * double. */
static bool add_next_number(struct kx_slice encoded, struct kx_buffer *out)
{
    size_t start = out->size;
    kx_add_slice(out, encoded);
    return !out->failed &&
           step_magnitude(out->data + start + 1, encoded.size - 1, false);
}

bool match_bounds_next_part(struct kx_slice encoded, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    out->size = 0;
    if (!read_part(encoded, &reader, &part))
        return false;
    switch (part.type) {
    case KX_BYTES_PART:
    case KX_STRING:
        return add_longer(part, out);
    case KX_BIGINT:
        return add_next_bigint(part, out);
    case KX_NUMBER:
        return add_next_number(encoded, out);
    case KX_BOOLEAN:
        return !part.boolean && kx_key_add_boolean(out, true) == KX_OK;
    }
    return false;
}

static bool is_lower(const struct condition *condition)
{
    return condition->comparison == WHERE_GT ||
           condition->comparison == WHERE_GE;
}

/* False for a bound after true: no part is greater. */
static bool bound_of(const struct condition *condition, struct kx_buffer *out)
{
    bool next =
        condition->comparison == WHERE_GT || condition->comparison == WHERE_LE;
    if (next)
        return match_bounds_next_part(condition->values[0], out);
    out->size = 0;
    kx_add_slice(out, condition->values[0]);
    return true;
}

static bool is_tighter(const struct condition *condition,
                       struct kx_slice present, struct kx_slice bound)
{
    int order = kx_compare(bound, present);
    return present.size == 0 || (is_lower(condition) ? order > 0 : order < 0);
}

static bool same_type(const struct match_bounds *bounds, struct kx_slice value)
{
    struct kx_slice other =
        kx_buffer_slice(bounds->low.size != 0 ? &bounds->low : &bounds->high);
    return other.size == 0 || predicate_comparable(other, value);
}

/* The last character, which begins no string. */
#define LAST_TEXT "\xf4\x8f\xbf\xbf"

/* A string or bytes part has one before it only if it ends in a zero: then that
 * is the same without it. The end of all strings stands for itself. */
static bool add_shorter(struct kx_part part, struct kx_buffer *out)
{
    bool last =
        part.type == KX_STRING && kx_equal(part.bytes, kx_text(LAST_TEXT));
    if (!last) {
        if (part.bytes.size == 0 || part.bytes.data[part.bytes.size - 1] != 0)
            return false;
        part.bytes.size--;
    }
    return kx_key_add(out, &part) == KX_OK;
}

static bool add_last_bigint(struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX];
    memset(bytes, 0xff, sizeof bytes);
    struct kx_part part = {.type = KX_BIGINT,
                           .bytes = kx_slice(bytes, sizeof bytes)};
    return kx_key_add(out, &part) == KX_OK;
}

static bool add_bigint_before(struct kx_part part, struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX + 1] = {0};
    size_t size = part.bytes.size + 1;
    if (part.bytes.size > 0)
        memcpy(bytes + 1, part.bytes.data, part.bytes.size);
    part.negative |= part.bytes.size == 0;
    step_magnitude(bytes, size, !part.negative);
    part.bytes = kx_slice(bytes, size);
    return kx_key_add(out, &part) == KX_OK;
}

/* The part just before this one; the last of the type before, if this is the
 * first of a type. False without such a part. */
static bool part_before(struct kx_slice encoded, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    size_t start = out->size;
    if (!read_part(encoded, &reader, &part))
        return false;
    switch (part.type) {
    case KX_BYTES_PART:
    case KX_STRING:
        return add_shorter(part, out);
    case KX_BIGINT:
        return add_bigint_before(part, out);
    case KX_NUMBER:
        if (part.number <= -__builtin_inf())
            return add_last_bigint(out);
        kx_add_slice(out, encoded);
        return !out->failed &&
               step_magnitude(out->data + start + 1, encoded.size - 1, true);
    case KX_BOOLEAN:
        if (part.boolean)
            return kx_key_add_boolean(out, false) == KX_OK;
        return kx_key_add_number(out, __builtin_nan("")) == KX_OK;
    }
    return false;
}

bool match_bounds_turn(struct match_bounds *bounds)
{
    struct match_bounds turned;
    kx_buffer_init(&turned.low, bounds->low.owner);
    kx_buffer_init(&turned.high, bounds->high.owner);
    bool low = bounds->high.size == 0 ||
               part_before(kx_buffer_slice(&bounds->high), &turned.low);
    bool high = bounds->low.size == 0 ||
                part_before(kx_buffer_slice(&bounds->low), &turned.high);
    bounds->low.failed |= turned.low.failed | turned.high.failed;
    if (low && high)
        *bounds = turned;
    return low && high;
}

bool match_bounds_narrow(struct match_bounds *bounds,
                         const struct condition *condition)
{
    struct kx_buffer *place =
        is_lower(condition) ? &bounds->low : &bounds->high;
    struct kx_buffer bound;
    kx_buffer_init(&bound, place->owner);
    if (!same_type(bounds, condition->values[0]) ||
        !bound_of(condition, &bound))
        return false;
    if (is_tighter(condition, kx_buffer_slice(place), kx_buffer_slice(&bound)))
        *place = bound;
    return true;
}

/* Adds the first part of a type, or an end of the type before; false for bytes,
 * the first type. Strings end at a character that begins no string. */
static bool add_first(enum kx_part_type type, struct kx_buffer *out)
{
    switch (type) {
    case KX_BYTES_PART:
        return false;
    case KX_STRING:
        kx_key_add_string(out, kx_text(""));
        return true;
    case KX_BIGINT:
        kx_key_add_string(out, kx_text(LAST_TEXT));
        return true;
    case KX_NUMBER:
        kx_key_add_number(out, -__builtin_inf());
        return true;
    case KX_BOOLEAN:
        kx_key_add_boolean(out, false);
        return true;
    }
    return false;
}

bool match_bounds_next_type(struct kx_slice encoded, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    out->size = 0;
    return read_part(encoded, &reader, &part) && part.type != KX_BOOLEAN &&
           add_first((enum kx_part_type)(part.type + 1), out);
}

void match_bounds_close(struct match_bounds *bounds)
{
    struct kx_key_reader reader;
    struct kx_part part;
    bool low = bounds->low.size != 0;
    bool high = bounds->high.size != 0;
    if (low && !high)
        match_bounds_next_type(kx_buffer_slice(&bounds->low), &bounds->high);
    else if (high && !low &&
             read_part(kx_buffer_slice(&bounds->high), &reader, &part))
        add_first(part.type, &bounds->low);
}

struct kx_slice match_bounds_join(void *mem, struct kx_slice prefix,
                                  struct kx_slice part, bool *failed)
{
    struct kx_buffer whole;
    if (part.size == 0)
        return part;
    kx_buffer_init(&whole, mem);
    kx_add_slice(&whole, prefix);
    kx_add_slice(&whole, part);
    *failed |= whole.failed;
    return kx_buffer_slice(&whole);
}
