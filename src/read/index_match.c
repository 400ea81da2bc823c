/* Whether an index answers a query. The first fields that the query compares
 * with eq make a prefix; the next may have bounds, or be one of several values;
 * from there on the entries come in the order of the remaining fields, and then
 * of their keys.
 *
 * Everything here is a pure function of a declaration and a query.
 *
 * One file because one question, which rows a scan of the index must read,
 * needs values, bounds, implications and the order at the same time. */
#include "read/index_match.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

#include "schema/indexable.h"
#include "schema/predicate.h"

/* ---- The values of a condition `in` ------------------------------------- */

static bool is_bytes(struct kx_slice encoded)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, encoded);
    return kx_key_next(&reader, &part) == KX_OK && part.type == KX_BYTES_PART;
}

/* Returns whether a range of the values includes null, the empty byte string. A
 * range among byte strings may. */
static bool match_values_reach_null(const struct declaration *index,
                                    const struct condition *condition)
{
    bool found = false;
    for (size_t i = 0; i < condition->value_count; i++)
        found |= indexable_is_null(condition->values[i]) ||
                 (condition->comparison >= WHERE_GT &&
                  is_bytes(condition->values[i]));
    return found && index->missing == MISSING_NULL;
}

/* Returns whether each value of the condition can be a range of an index. Null
 * cannot: it has no place of its own. */
static bool is_possible(const struct condition *condition)
{
    if (condition->comparison != WHERE_IN ||
        condition->value_count > KX_RANGES_MAX)
        return false;
    for (size_t i = 0; i < condition->value_count; i++)
        if (condition->values[i].size == 0)
            return false;
    return condition->value_count > 0;
}

/* The condition that the field is one of several values, which can be ranges of
 * the index; its bit is set in *used. NULL also if the field has bounds, which
 * are simpler. */
static const struct condition *
match_values_find(const struct declaration *index,
                  const struct declaration *asked, const struct field *field,
                  uint32_t *used)
{
    const struct condition *found = NULL;
    uint32_t bit = 0;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        struct field subject = query_subject(condition);
        if (!query_same_place(&subject, field))
            continue;
        if (condition->comparison >= WHERE_GT)
            return NULL;
        if (condition->fold == field->fold && is_possible(condition) &&
            !match_values_reach_null(index, condition)) {
            found = condition;
            bit = 1u << i;
        }
    }
    *used |= bit;
    return found;
}

/* Sets the match's values to those of the condition, each followed by the parts
 * in `suffix`. False without memory. */
static bool match_values_make(void *mem, const struct condition *condition,
                              struct kx_slice suffix,
                              struct kx_index_match *match)
{
    struct kx_slice *values =
        talloc_array(mem, struct kx_slice, condition->value_count);
    struct kx_buffer all;
    kx_buffer_init(&all, mem);
    for (size_t i = 0; i < condition->value_count; i++) {
        kx_add_slice(&all, condition->values[i]);
        kx_add_slice(&all, suffix);
    }
    kx_buffer_fit(&all);
    if (values == NULL || all.failed)
        return false;
    size_t at = 0;
    for (size_t i = 0; i < condition->value_count; i++) {
        size_t size = condition->values[i].size + suffix.size;
        values[i] = kx_slice(all.data + at, size);
        at += size;
    }
    match->values = values;
    match->value_count = condition->value_count;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    return kx_compare(*(const struct kx_slice *)a, *(const struct kx_slice *)b);
}

static int by_bytes_reversed(const void *a, const void *b)
{
    return by_bytes(b, a);
}

/* Sorts the values in the order of keys, or in the opposite order. */
static void match_values_sort(struct kx_index_match *match, bool descending)
{
    qsort((void *)match->values, match->value_count, sizeof *match->values,
          descending ? by_bytes_reversed : by_bytes);
}

/* Returns the bytes of the longest value. */
static size_t match_values_longest(const struct kx_index_match *match)
{
    size_t longest = 0;
    for (size_t i = 0; i < match->value_count; i++)
        if (match->values[i].size > longest)
            longest = match->values[i].size;
    return longest;
}

/* ---- Bounds ------------------------------------------------------------- */

/* Comparisons as bounds of a scan. Bounds are inclusive below and exclusive
 * above; "greater than x" begins at the next part after x. A comparison
 * concerns one type, and so do its bounds.
 *
 * Every part has a next one, except true. Most parts also have one just before
 * them, but strings and bytes do not: between "a" and "b" lie "aa", "aaa" and
 * so on, and no string is the last. */

/* Bounds of a range: encoded parts that follow the equal ones. */
struct match_bounds {
    struct kx_buffer low;  /* inclusive; empty: none */
    struct kx_buffer high; /* exclusive; empty: none */
    bool signed_zero;      /* a part of the key: -0 comes before 0 */
    bool bounded;          /* by comparisons with operands of this type: */
    enum kx_part_type type;
};

static bool read_part(struct kx_slice encoded, struct kx_key_reader *reader,
                      struct kx_part *part_out)
{
    kx_key_read(reader, encoded);
    return kx_key_next(reader, part_out) == KX_OK;
}

/* ---- Ends of types ------------------------------------------------------ */

/* Adds the bigint of this sign that is farthest from 0. */
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

/* Replaces out by the encoding of the next part after this one. False if this
 * is true, the last of all, or without memory (out->failed). */
static bool match_bounds_next_part(struct kx_slice encoded, bool signed_zero,
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

/* Sets *type_out to the type of the part. False: the bounds are of another
 * type, or the part cannot be read. */
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

/* Narrows the bounds by a condition that is gt, ge, lt or le; false if bounds
 * cannot express it. At first both buffers are empty. */
static bool match_bounds_narrow(struct match_bounds *bounds,
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

/* Adds a missing bound: the end of the type of the operands, if the type has
 * one. */
static void match_bounds_close(struct match_bounds *bounds)
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

/* Adds the part just before this one. False: no part comes just before it. */
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

/* Turns the closed bounds into those of a descending field: `low` is then the
 * greatest part, inclusive, and `high` the one before the least, exclusive.
 * False if there is no such part, because no string comes just before another:
 * the bounds are then wider than the conditions. */
static bool match_bounds_turn(struct match_bounds *bounds)
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

/* A bound that follows the encoded parts that are equal, in talloc context mem.
 * Without memory *failed is set. */
static struct kx_slice match_bounds_join(void *mem, struct kx_slice prefix,
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

/* ---- What conditions imply ---------------------------------------------- */

/* Implications of conditions: that another condition holds, or that a value
 * exists. */

bool index_match_needs_value(const struct condition *condition)
{
    if (condition->comparison == WHERE_NE ||
        condition->comparison == WHERE_EXISTS)
        return false;
    for (size_t i = 0; i < condition->value_count; i++)
        if (condition->values[i].size == 0)
            return false;
    return true;
}

static bool is_lower_bound(enum comparison comparison)
{
    return comparison == WHERE_GT || comparison == WHERE_GE;
}

/* Returns whether a implies b, if both are bounds on the same side. */
static bool bound_implies(const struct condition *a, const struct condition *b)
{
    if (a->comparison < WHERE_GT || b->comparison < WHERE_GT ||
        is_lower_bound(a->comparison) != is_lower_bound(b->comparison) ||
        !predicate_comparable(a->values[0], b->values[0]))
        return false;
    int order = kx_compare(a->values[0], b->values[0]);
    bool strict = b->comparison == WHERE_GT || b->comparison == WHERE_LT;
    bool has = a->comparison == WHERE_GT || a->comparison == WHERE_LT;
    if (order == 0)
        return has || !strict;
    return is_lower_bound(a->comparison) ? order > 0 : order < 0;
}

static bool same_values(const struct condition *a, const struct condition *b)
{
    if (a->comparison != b->comparison || a->exists != b->exists ||
        a->value_count != b->value_count)
        return false;
    for (size_t i = 0; i < a->value_count; i++)
        if (!kx_equal(a->values[i], b->values[i]))
            return false;
    return true;
}

/* b allows every value that a allows. */
static bool values_admitted(const struct condition *a,
                            const struct condition *b)
{
    if (a->comparison != WHERE_EQ && a->comparison != WHERE_IN)
        return false;
    for (size_t i = 0; i < a->value_count; i++)
        if (!predicate_admits(b, a->values[i]))
            return false;
    return true;
}

static bool implies(const struct condition *a, const struct condition *b)
{
    bool exists = b->comparison == WHERE_EXISTS && b->exists;
    return same_values(a, b) || values_admitted(a, b) || bound_implies(a, b) ||
           (exists && index_match_needs_value(a));
}

bool index_match_is_plain(const struct condition *condition)
{
    return condition->key_part == 0 && condition->fold == FOLD_NONE &&
           !condition->each;
}

/* Returns whether a condition of the list implies `wanted`. Only conditions on
 * unchanged values at the same path are compared. */
static bool match_implied(const struct condition *list, size_t count,
                          const struct condition *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (index_match_is_plain(&list[i]) &&
            kx_equal(list[i].path, wanted->path) && implies(&list[i], wanted))
            return true;
    return false;
}

/* True if the query's conditions imply an indexable value at the path, or with
 * `each` also indexable elements of an array there. */
static bool match_implied_value(const struct declaration *asked,
                                struct kx_slice path, bool each)
{
    for (size_t i = 0; i < asked->where_count; i++)
        if (asked->where[i].key_part == 0 && (each || !asked->where[i].each) &&
            kx_equal(asked->where[i].path, path) &&
            index_match_needs_value(&asked->where[i]))
            return true;
    return false;
}

/* Returns whether every entry of the query has the value or part of this field.
 * Every covered key has at least one part after the prefix. */
static bool match_implied_given(const struct declaration *asked,
                                const struct field *field)
{
    if (field->versionstamp)
        return true;
    if (field->key_part != 0)
        return field->key_part == 1 || field->key_part <= asked->depth;
    return match_implied_value(asked, field->path, false);
}

static bool has_field_at(const struct declaration *declaration,
                         struct kx_slice path)
{
    for (size_t i = 0; i < declaration->field_count; i++)
        if (field_of_value(&declaration->fields[i]) &&
            kx_equal(declaration->fields[i].path, path))
            return true;
    return false;
}

/* Returns whether the path is in the query's order: an entry that is ordered by
 * a value must have the value. */
static bool match_implied_order(const struct declaration *asked,
                                struct kx_slice path)
{
    return has_field_at(asked, path);
}

/* True if every entry in the index meets this condition (`exists`). An index
 * has only entries with values of its fields, unless it also takes entries
 * without them. */
static bool match_implied_fields(const struct declaration *index,
                                 const struct condition *condition)
{
    return condition->comparison == WHERE_EXISTS && condition->exists &&
           index->missing != MISSING_NULL &&
           has_field_at(index, condition->path);
}

enum {
    PAIR_COST = 8
}; /* cost of comparing two values, in bytes copied in the same time */

/* An index and a query while they are compared. */
struct matcher {
    const struct declaration *index;
    const struct declaration *asked;
    struct kx_index_match *match;
    uint32_t used;        /* conditions that the bounds answer, by number */
    size_t equal;         /* fields that are compared with eq */
    struct kx_slice last; /* what the last of them must equal */
    bool ranged;          /* the next one has bounds */
    const struct condition
        *in;       /* a condition `in` on one of the equal fields, or NULL */
    size_t in_at;  /* number of the field of `in` */
    bool by_value; /* the requested order begins with the field of `in` */
    bool indexed;  /* the entries are those of an index */
    size_t sorted; /* number of fields and key parts, after the equal ones, in
                    * the requested order */
    bool turned;   /* the requested order is the reverse of the index's */
    bool partial;  /* conditions are answered by the index's own */
};

static void mismatch(struct matcher *matcher, enum kx_mismatch mismatch)
{
    matcher->match->mismatches |= 1u << mismatch;
}

/* ---- Bounds ------------------------------------------------------------- */

static bool is_about(const struct condition *condition,
                     const struct field *field)
{
    struct field subject = query_subject(condition);
    return query_same_place(&subject, field);
}

static bool is_equal(const struct condition *condition)
{
    return condition->comparison == WHERE_EQ && condition->values[0].size != 0;
}

/* Adds the value that the field must equal to the prefix; false if no condition
 * gives one. */
static bool take_equal(struct matcher *matcher, const struct field *field,
                       struct kx_buffer *prefix)
{
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (!is_equal(condition) || !is_about(condition, field) ||
            match_values_reach_null(matcher->index, condition))
            continue;
        if (condition->fold != field->fold) {
            mismatch(matcher, KX_MISMATCH_FOLDS);
            continue;
        }
        matcher->last = condition->values[0];
        kx_add_slice(prefix, matcher->last);
        matcher->used |= 1u << i;
        return true;
    }
    return false;
}

static void take_equals(struct matcher *matcher, struct kx_buffer *prefix)
{
    const struct declaration *index = matcher->index;
    while (matcher->equal < index->field_count &&
           take_equal(matcher, &index->fields[matcher->equal], prefix))
        matcher->equal++;
}

static void take_range(struct matcher *matcher, const struct field *field,
                       struct match_bounds *bounds)
{
    const struct declaration *asked = matcher->asked;
    uint32_t before = matcher->used;
    bounds->signed_zero = field->key_part != 0;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (condition->comparison < WHERE_GT || !is_about(condition, field) ||
            match_values_reach_null(matcher->index, condition))
            continue;
        if (condition->fold != field->fold)
            mismatch(matcher, KX_MISMATCH_FOLDS);
        else if (field->each)
            mismatch(matcher, KX_MISMATCH_REPEATS);
        else if (match_bounds_narrow(bounds, condition)) {
            matcher->used |= 1u << i;
            matcher->ranged = true;
        }
    }
    match_bounds_close(bounds);
    if (field->descending && !match_bounds_turn(bounds))
        matcher->used = before;
}

/* If the next field is to be one of several values, each of them is a range,
 * and fields after it may be equal. */
static bool take_in(struct matcher *matcher, void *mem)
{
    const struct field *field = &matcher->index->fields[matcher->equal];
    struct kx_buffer suffix;
    matcher->in = match_values_find(matcher->index, matcher->asked, field,
                                    &matcher->used);
    if (matcher->in == NULL)
        return true;
    kx_buffer_init(&suffix, mem);
    matcher->in_at = matcher->equal++;
    take_equals(matcher, &suffix);
    return !suffix.failed &&
           match_values_make(mem, matcher->in, kx_buffer_slice(&suffix),
                             matcher->match);
}

static bool take_bounds(struct matcher *matcher, void *mem)
{
    const struct declaration *index = matcher->index;
    struct kx_index_match *match = matcher->match;
    struct kx_buffer prefix;
    struct match_bounds bounds = {.bounded = false};
    kx_buffer_init(&prefix, mem);
    kx_buffer_init(&bounds.low, mem);
    kx_buffer_init(&bounds.high, mem);
    take_equals(matcher, &prefix);
    if (matcher->indexed && matcher->equal < index->field_count &&
        !take_in(matcher, mem))
        return false;
    if (matcher->in == NULL && matcher->equal < index->field_count)
        take_range(matcher, &index->fields[matcher->equal], &bounds);
    bool failed = prefix.failed || bounds.low.failed || bounds.high.failed;
    match->prefix = kx_buffer_slice(&prefix);
    match->start = match_bounds_join(mem, match->prefix,
                                     kx_buffer_slice(&bounds.low), &failed);
    match->end = match_bounds_join(mem, match->prefix,
                                   kx_buffer_slice(&bounds.high), &failed);
    return !failed;
}

/* ---- Order -------------------------------------------------------------- */

/* The fields of an index that is not unique are followed by the parts of the
 * key. */
static struct field field_at(const struct declaration *index, size_t n)
{
    if (n < index->field_count)
        return index->fields[n];
    return (struct field){.key_part = n - index->field_count + 1};
}

static bool is_fixed(const struct matcher *matcher, const struct field *field)
{
    for (size_t i = 0; i < matcher->equal; i++)
        if ((matcher->in == NULL || i != matcher->in_at) &&
            query_same_field(&matcher->index->fields[i], field))
            return true;
    return false;
}

/* True if the query asks for the order of the values of `in`, which are
 * compared as given. */
static bool is_by_value(struct matcher *matcher, const struct field *asked)
{
    const struct field *field = &matcher->index->fields[matcher->in_at];
    if (matcher->in == NULL || matcher->sorted > 0 || field->each ||
        field->fold != FOLD_NONE || !query_same_field(asked, field))
        return false;
    matcher->by_value = true;
    match_values_sort(matcher->match,
                      matcher->match->reverse != asked->descending);
    return true;
}

/* Returns whether the entries are in the requested order already. */
static bool is_settled(struct matcher *matcher, const struct field *asked,
                       bool alone)
{
    bool single = matcher->in == NULL || matcher->by_value;
    return is_fixed(matcher, asked) || is_by_value(matcher, asked) ||
           (alone && single && match_implied_given(matcher->asked, asked));
}

/* Takes the next field of the order asked for. One scan reads all fields either
 * as they lie or the other way round. */
static bool take_sorted(struct matcher *matcher, const struct field *asked,
                        const struct field *place)
{
    bool turned = asked->descending != place->descending;
    if (!query_same_field(asked, place) ||
        (matcher->sorted > 0 && turned != matcher->turned))
        return false;
    matcher->turned = turned;
    matcher->sorted++;
    return true;
}

/* After all fields of a unique index nothing is left to be ordered, but entries
 * without a place in the order must not be among the results. After the fields
 * of another index come the parts of the key, also for entries that lack the
 * part that is asked for. */
static void check_order(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->field_count; i++) {
        size_t at = matcher->equal + matcher->sorted;
        struct field place = field_at(index, at);
        bool alone = index->unique && at >= index->field_count;
        if (is_settled(matcher, &asked->fields[i], alone))
            continue;
        bool lacking = at >= index->field_count &&
                       !match_implied_given(matcher->asked, &place);
        if (alone || lacking ||
            !take_sorted(matcher, &asked->fields[i], &place)) {
            mismatch(matcher, KX_MISMATCH_ORDER);
            return;
        }
    }
    matcher->match->reverse ^= matcher->turned;
    matcher->match->merge =
        matcher->in != NULL && matcher->sorted > 0 && !matcher->by_value;
}

/* ---- What the index leaves out ------------------------------------------ */

static bool is_present(const struct matcher *matcher, const struct field *field)
{
    if (field->key_part != 0 && matcher->index->missing == MISSING_NULL)
        return true;
    return match_implied_given(matcher->asked, field) ||
           (field->key_part == 0 &&
            (match_implied_order(matcher->asked, field->path) ||
             matcher->index->missing == MISSING_ERROR));
}

/* Returns whether the requested order begins or ends with entries that have no
 * value for it. Bounds leave these entries out. */
static bool has_nulls(const struct matcher *matcher, size_t n)
{
    return matcher->index->missing == MISSING_NULL &&
           n < matcher->equal + matcher->sorted &&
           !(n == matcher->equal && matcher->ranged) &&
           !match_implied_given(matcher->asked, &matcher->index->fields[n]);
}

static void check_fields(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    if (index->sum_count > 0 && index->missing != MISSING_ERROR)
        mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
    for (size_t i = matcher->equal; i < index->field_count; i++) {
        const struct field *field = &index->fields[i];
        if (field->each)
            mismatch(matcher, KX_MISMATCH_REPEATS);
        if (has_nulls(matcher, i))
            mismatch(matcher, KX_MISMATCH_NULLS);
        if (i >= matcher->equal + matcher->sorted &&
            !is_present(matcher, field))
            mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
    }
}

/* Checks that the conditions of the index exclude no entry of the query. */
static void check_where(struct matcher *matcher)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < index->where_count; i++) {
        const struct condition *own = &index->where[i];
        bool exists = own->comparison == WHERE_EXISTS && own->exists;
        if (!match_implied(asked->where, asked->where_count, own) &&
            !(exists && (match_implied_value(asked, own->path, true) ||
                         match_implied_order(asked, own->path))))
            mismatch(matcher, KX_MISMATCH_PARTIAL);
    }
}

static bool shares_entries(const struct declaration *index,
                           const struct declaration *asked)
{
    return kx_starts_with(asked->prefix, index->prefix) ||
           kx_starts_with(index->prefix, asked->prefix);
}

static void check_prefix(struct matcher *matcher)
{
    struct kx_slice index = matcher->index->prefix;
    struct kx_slice asked = matcher->asked->prefix;
    if (!shares_entries(matcher->index, matcher->asked)) {
        mismatch(matcher, KX_MISMATCH_OTHER_PREFIX);
        return;
    }
    if (index.size < asked.size)
        mismatch(matcher, KX_MISMATCH_COVERS_MORE);
    if (index.size > asked.size)
        mismatch(matcher, KX_MISMATCH_COVERS_LESS);
    if (matcher->index->depth != matcher->asked->depth)
        mismatch(matcher, KX_MISMATCH_OTHER_DEPTH);
    if (declaration_aggregates(matcher->index))
        mismatch(matcher, KX_MISMATCH_TOTALS);
}

/* ---- What is left for the client ---------------------------------------- */

static bool is_answered(struct matcher *matcher, size_t n)
{
    const struct declaration *index = matcher->index;
    const struct declaration *asked = matcher->asked;
    const struct condition *condition = &asked->where[n];
    if ((matcher->used >> n & 1) != 0)
        return true;
    if (!index_match_is_plain(condition))
        return false;
    bool own = match_implied(index->where, index->where_count, condition);
    matcher->partial |= own;
    if (own || match_implied_fields(index, condition))
        return true;
    for (size_t i = 0; i < asked->where_count; i++)
        if ((matcher->used >> i & 1) != 0 &&
            match_implied(&asked->where[i], 1, condition))
            return true;
    return false;
}

static void check_conditions(struct matcher *matcher)
{
    for (size_t i = 0; i < matcher->asked->where_count; i++)
        if (!is_answered(matcher, i))
            matcher->match->left |= 1u << i;
    if (matcher->match->left != 0)
        mismatch(matcher, KX_MISMATCH_CONDITIONS);
    const unsigned tried = 1u << KX_MISMATCH_FOLDS | 1u << KX_MISMATCH_REPEATS;
    if (matcher->equal == 0 && !matcher->ranged && matcher->sorted == 0 &&
        !matcher->partial && (matcher->match->mismatches & tried) == 0)
        mismatch(matcher, KX_MISMATCH_UNUSED);
}

/* ---- The whole ---------------------------------------------------------- */

/* No key and no index entry has a prefix or bound longer than a key, and no
 * list takes one. This does not depend on what the index leaves out now. */
static void check_room(struct matcher *matcher)
{
    struct kx_index_match *match = matcher->match;
    size_t room = KX_KEY_MAX - matcher->index->name_key.size;
    if (match->prefix.size + match_values_longest(match) <= room &&
        match->start.size <= room && match->end.size <= room)
        return;
    mismatch(matcher, KX_MISMATCH_LEAVES_OUT);
    match->may_leave_out = false;
}

static enum kx_status compare(void *mem, struct matcher *matcher)
{
    if (!take_bounds(matcher, mem))
        return KX_NO_MEMORY;
    check_order(matcher);
    check_conditions(matcher);
    return KX_OK;
}

size_t index_match_values(const struct declaration *asked)
{
    size_t count = 0;
    for (size_t i = 0; i < asked->where_count; i++)
        count += asked->where[i].value_count;
    return count;
}

size_t index_match_cost(const struct declaration *index,
                        const struct kx_query *query)
{
    const struct declaration *asked = query->asked;
    size_t values = index_match_values(asked);
    size_t cost = values * (sizeof(struct kx_slice) +
                            PAIR_COST * index_match_values(index));
    for (size_t i = 0; i < asked->where_count; i++)
        for (size_t n = 0; n < asked->where[i].value_count; n++)
            cost += asked->where[i].values[n].size;
    return shares_entries(index, asked) ? cost : 0;
}

enum kx_status index_match_make(void *mem, const struct declaration *index,
                                const struct kx_query *query,
                                struct kx_index_match *match_out)
{
    struct matcher matcher = {.index = index,
                              .asked = query->asked,
                              .match = match_out,
                              .indexed = true};
    *match_out = (struct kx_index_match){.reverse = query->reverse};
    check_prefix(&matcher);
    if (match_out->mismatches == 1u << KX_MISMATCH_OTHER_PREFIX)
        return KX_OK; /* nothing else matters */
    enum kx_status status = compare(mem, &matcher);
    check_fields(&matcher);
    match_out->may_leave_out =
        (match_out->mismatches >> KX_MISMATCH_LEAVES_OUT & 1) != 0;
    check_where(&matcher);
    check_room(&matcher);
    if (index->tombstones_ms != 0)
        mismatch(&matcher, KX_MISMATCH_TOMBSTONES);
    match_out->followed = query_reads_entries(query->asked, index);
    return status;
}

/* A scan with a prefix leaves out the key that equals the prefix; a scan with
 * bounds does not. */
static bool include_key(void *mem, struct matcher *matcher)
{
    struct kx_index_match *match = matcher->match;
    struct kx_buffer next;
    bool failed = false;
    if (matcher->equal == 0 || matcher->ranged)
        return true;
    kx_buffer_init(&next, mem);
    match->start = match->prefix;
    match->prefix.size -= matcher->last.size;
    if (match_bounds_next_part(matcher->last, true, &next))
        match->end = match_bounds_join(mem, match->prefix,
                                       kx_buffer_slice(&next), &failed);
    return !failed && !next.failed;
}

/* An index has only entries with all of its fields, but the entries themselves
 * have any number of key parts. */
static void check_parts(struct matcher *matcher)
{
    const struct declaration *asked = matcher->asked;
    for (size_t i = 0; i < asked->field_count; i++)
        if (asked->fields[i].key_part != 0 &&
            !is_fixed(matcher, &asked->fields[i]) &&
            !match_implied_given(matcher->asked, &asked->fields[i]))
            mismatch(matcher, KX_MISMATCH_ORDER);
}

/* The entries are treated as an index whose fields are the parts of the key. */
enum kx_status index_match_entries(void *mem, const struct kx_query *query,
                                   struct kx_index_match *match_out)
{
    struct declaration *keys = talloc_zero(mem, struct declaration);
    if (keys == NULL)
        return KX_NO_MEMORY;
    struct kx_slice prefix = query->asked->prefix;
    struct matcher matcher = {
        .index = keys, .asked = query->asked, .match = match_out};
    while (keys->field_count < KX_FIELDS_MAX) {
        size_t n = keys->field_count++;
        keys->fields[n].key_part = n + 1;
    }
    *match_out = (struct kx_index_match){.reverse = query->reverse};
    enum kx_status status = compare(mem, &matcher);
    check_parts(&matcher);
    bool failed = !include_key(mem, &matcher);
    match_out->mismatches &= ~(1u << KX_MISMATCH_UNUSED);
    if (query->asked->depth != 0)
        mismatch(&matcher, KX_MISMATCH_OTHER_DEPTH);
    match_out->start =
        match_bounds_join(mem, prefix, match_out->start, &failed);
    match_out->end = match_bounds_join(mem, prefix, match_out->end, &failed);
    if (match_out->prefix.size == 0)
        match_out->prefix = prefix;
    else
        match_out->prefix =
            match_bounds_join(mem, prefix, match_out->prefix, &failed);
    check_room(&matcher);
    return failed ? KX_NO_MEMORY : status;
}
