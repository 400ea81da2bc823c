/* Comparisons as bounds of a scan. Bounds are inclusive below and exclusive
 * above; "greater than x" begins at the next part after x. A comparison
 * concerns one type, and so do its bounds.
 *
 * Every part has a next one, except true. Most parts also have one just before
 * them, but strings and bytes do not: between "a" and "b" lie "aa", "aaa" and
 * so on, and no string is the last. */
#include "read/index_match.h"

#include <math.h>

#include "schema/indexable.h"
#include "schema/predicate.h"

static bool read_part(struct kx_slice encoded, struct kx_key_reader *reader,
                      struct kx_part *part_out)
{
    kx_key_read(reader, encoded);
    return kx_key_next(reader, part_out) == KX_OK;
}

/* ---- Ends of types ------------------------------------------------------ */

/* The part of this sign that is farthest from 0. */
static bool add_extreme_bigint(bool negative, struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX];
    memset(bytes, 0xff, sizeof bytes);
    struct kx_part part = {.type = KX_BIGINT,
                           .negative = negative,
                           .bytes = kx_slice(bytes, sizeof bytes)};
    return kx_key_add(out, &part) == KX_OK;
}

static bool add_first(enum kx_part_type type, struct kx_buffer *out)
{
    switch (type) {
    case KX_BYTES_PART:
        return kx_key_add_bytes(out, kx_text("")) == KX_OK;
    case KX_STRING:
        return kx_key_add_string(out, kx_text("")) == KX_OK;
    case KX_BIGINT:
        return add_extreme_bigint(true, out);
    case KX_NUMBER:
        return kx_key_add_number(out, copysign(NAN, -1)) == KX_OK;
    case KX_BOOLEAN:
        return kx_key_add_boolean(out, false) == KX_OK;
    }
    return false;
}

/* ---- The next part ------------------------------------------------------ */

/* Steps to the next larger magnitude, or with `down` to the next smaller one if
 * the magnitude is not 0. */
static void step_magnitude(uint8_t *bytes, size_t size, bool down)
{
    for (size_t i = size; i-- > 0;) {
        bytes[i] = (uint8_t)(bytes[i] + (down ? -1 : 1));
        if (bytes[i] != (down ? 0xff : 0))
            return;
    }
}

/* False if the bigint would have more bytes than a key can hold. */
static bool add_stepped_bigint(struct kx_part part, bool down,
                               struct kx_buffer *out)
{
    uint8_t bytes[KX_BIGINT_MAX + 1] = {0};
    size_t size = part.bytes.size + 1;
    if (part.bytes.size > 0)
        memcpy(bytes + 1, part.bytes.data, part.bytes.size);
    part.negative |= down && part.bytes.size == 0;
    step_magnitude(bytes, size, part.negative != down);
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
    out->failed |= longer.failed;
    kx_buffer_free(&longer);
    return done;
}

static double zero_as(double number, bool signed_zero)
{
    return number == 0 && !signed_zero ? 0 : number;
}

/* The neighbours of a number in the order of keys: -NaN, -Infinity, the finite
 * numbers, Infinity, NaN. Only parts of keys have a -0 beside 0. */
static double number_after(double number, bool signed_zero)
{
    if (isnan(number))
        return -INFINITY; /* after -NaN */
    if (number >= INFINITY)
        return NAN;
    if (signed_zero && number == 0 && signbit(number))
        return 0;
    return zero_as(nextafter(number, INFINITY), signed_zero);
}

static double number_before(double number, bool signed_zero)
{
    if (isnan(number))
        return INFINITY;
    return zero_as(-number_after(-number, signed_zero), signed_zero);
}

static bool add_number_after(double number, bool signed_zero,
                             struct kx_buffer *out)
{
    if (isnan(number) && !signbit(number))
        return add_first(KX_BOOLEAN, out);
    return kx_key_add_number(out, number_after(number, signed_zero)) == KX_OK;
}

static bool add_number_before(double number, bool signed_zero,
                              struct kx_buffer *out)
{
    if (isnan(number) && signbit(number))
        return add_extreme_bigint(false, out);
    if (number <= -INFINITY)
        return add_first(KX_NUMBER, out);
    return kx_key_add_number(out, number_before(number, signed_zero)) == KX_OK;
}

bool match_bounds_next_part(struct kx_slice encoded, bool signed_zero,
                            struct kx_buffer *out)
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
        return add_stepped_bigint(part, false, out) ||
               add_first(KX_NUMBER, out);
    case KX_NUMBER:
        return add_number_after(part.number, signed_zero, out);
    case KX_BOOLEAN:
        return !part.boolean && kx_key_add_boolean(out, true) == KX_OK;
    }
    return false;
}

/* ---- Narrowing ---------------------------------------------------------- */

static bool is_lower(const struct condition *condition)
{
    return condition->comparison == WHERE_GT ||
           condition->comparison == WHERE_GE;
}

static bool is_tighter(const struct condition *condition,
                       struct kx_slice present, struct kx_slice bound)
{
    int order = kx_compare(bound, present);
    return present.size == 0 || (is_lower(condition) ? order > 0 : order < 0);
}

/* Adds the operand, or the part after it. No part comes after true: "greater
 * than true" has no bound (false), and "at most true" needs none. */
static bool add_bound(const struct condition *condition, bool signed_zero,
                      struct kx_buffer *out)
{
    bool next =
        condition->comparison == WHERE_GT || condition->comparison == WHERE_LE;
    if (next)
        return match_bounds_next_part(condition->values[0], signed_zero, out) ||
               !is_lower(condition);
    kx_add_slice(out, condition->values[0]);
    return true;
}

/* Do the bounds concern parts of this type? */
static bool takes_type(const struct match_bounds *bounds, struct kx_slice part,
                       enum kx_part_type *type_out)
{
    struct kx_key_reader reader;
    struct kx_part read;
    if (!read_part(part, &reader, &read))
        return false;
    *type_out = read.type;
    return !bounds->bounded || read.type == bounds->type;
}

bool match_bounds_narrow(struct match_bounds *bounds,
                         const struct condition *condition)
{
    struct kx_buffer *place =
        is_lower(condition) ? &bounds->low : &bounds->high;
    enum kx_part_type type = KX_BYTES_PART;
    struct kx_buffer bound;
    kx_buffer_init(&bound, place->owner);
    bool narrows = takes_type(bounds, condition->values[0], &type) &&
                   add_bound(condition, bounds->signed_zero, &bound);
    place->failed |= bound.failed;
    if (!narrows)
        return false;
    bounds->bounded = true;
    bounds->type = type;
    if (bound.size != 0 &&
        is_tighter(condition, kx_buffer_slice(place), kx_buffer_slice(&bound)))
        *place = bound;
    return true;
}

void match_bounds_close(struct match_bounds *bounds)
{
    if (!bounds->bounded)
        return;
    if (bounds->low.size == 0)
        add_first(bounds->type, &bounds->low);
    if (bounds->high.size == 0 && bounds->type != KX_BOOLEAN)
        add_first((enum kx_part_type)(bounds->type + 1), &bounds->high);
}

/* ---- Descending fields -------------------------------------------------- */

/* A string or bytes part has one before it only if it ends in a zero. */
static bool add_shorter(struct kx_part part, struct kx_buffer *out)
{
    if (part.bytes.size == 0 || part.bytes.data[part.bytes.size - 1] != 0)
        return false;
    part.bytes.size--;
    return kx_key_add(out, &part) == KX_OK;
}

/* Adds the part just before this one; false if no part is there. */
static bool add_part_before(struct kx_slice encoded, bool signed_zero,
                            struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    if (!read_part(encoded, &reader, &part))
        return false;
    switch (part.type) {
    case KX_BYTES_PART:
    case KX_STRING:
        return add_shorter(part, out);
    case KX_BIGINT:
        return add_stepped_bigint(part, true, out);
    case KX_NUMBER:
        return add_number_before(part.number, signed_zero, out);
    case KX_BOOLEAN:
        if (part.boolean)
            return add_first(KX_BOOLEAN, out);
        return kx_key_add_number(out, NAN) == KX_OK;
    }
    return false;
}

/* Adds the string without its last character, or the bytes without the last. */
static void add_beginning(struct kx_part part, struct kx_buffer *out)
{
    part.bytes.size--;
    while (part.type == KX_STRING && !kx_utf8_valid(part.bytes))
        part.bytes.size--;
    kx_key_add(out, &part);
}

/* Adds a part that is less, and near: the beginning of a string or of bytes.
 * None is near the first part of a type, so there it is one of those that few
 * parts of the type before exceed. */
static void add_lesser(struct kx_slice encoded, struct kx_buffer *out)
{
    static const char last_character[] = "\xf4\x8f\xbf\xbf";
    struct kx_key_reader reader;
    struct kx_part part;
    if (!read_part(encoded, &reader, &part))
        return;
    if (part.type == KX_BIGINT) {
        kx_key_add_string(out, kx_text(last_character));
    } else if (part.bytes.size == 0) {
        kx_key_add_bytes(out, kx_text("\xff"));
    } else {
        add_beginning(part, out);
    }
}

/* Adds the least part of the range to be excluded last: the one before `low`,
 * or a lesser one. Nothing comes before the empty bytes, so after them a
 * descending field needs no end. */
static bool add_turned_low(const struct match_bounds *bounds,
                           struct kx_buffer *out)
{
    struct kx_slice low = kx_buffer_slice(&bounds->low);
    if (indexable_is_null(low) ||
        add_part_before(low, bounds->signed_zero, out))
        return true;
    add_lesser(low, out);
    return false;
}

bool match_bounds_turn(struct match_bounds *bounds)
{
    struct match_bounds turned = *bounds;
    if (!bounds->bounded)
        return true;
    kx_buffer_init(&turned.low, bounds->low.owner);
    kx_buffer_init(&turned.high, bounds->high.owner);
    bool exact = bounds->high.size == 0 ||
                 add_part_before(kx_buffer_slice(&bounds->high),
                                 bounds->signed_zero, &turned.low);
    if (!exact)
        kx_add_slice(&turned.low, kx_buffer_slice(&bounds->high));
    exact &= add_turned_low(bounds, &turned.high);
    turned.low.failed |= bounds->low.failed | bounds->high.failed;
    *bounds = turned;
    return exact;
}

/* ---- Whole keys --------------------------------------------------------- */

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
