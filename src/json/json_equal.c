/* Comparison of two JSON texts by value. The recursion is as deep as the texts,
 * at most KX_JSON_DEPTH_MAX. */
#include "kindex/json.h"
#include "kindex/text.h"

#include "json/json_equal.h"

#include "json/json_number.h"
#include "json/json_members.h"
#include "json/json_scan.h"
#include "json/json_string.h"

static bool equal(struct kx_slice a, struct kx_slice b, bool exactly);

static bool equal_numbers(struct kx_slice a, struct kx_slice b, bool exactly)
{
    double x;
    double y;
    if (exactly)
        return json_number_compare(a, b) == 0;
    return kx_number_parse(a, &x) && kx_number_parse(b, &y) && x == y;
}

static bool equal_arrays(struct kx_slice a, struct kx_slice b, bool exactly)
{
    struct kx_json_iter iter_a;
    struct kx_json_iter iter_b;
    if (!kx_json_iterate(a, &iter_a) || !kx_json_iterate(b, &iter_b))
        return false;
    struct kx_slice none;
    struct kx_slice x;
    struct kx_slice y;
    while (kx_json_next(&iter_a, &none, &x))
        if (!kx_json_next(&iter_b, &none, &y) || !equal(x, y, exactly))
            return false;
    return !kx_json_next(&iter_b, &none, &y);
}

/* Finds a member by linear search, if there was no memory to sort them. */
static bool search(struct kx_slice object, struct kx_slice wanted,
                   struct kx_slice *value_out)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    if (!kx_json_iterate(object, &iter))
        return false;
    while (kx_json_next(&iter, &name, value_out))
        if (json_string_equal(name, wanted))
            return true;
    return false;
}

/* An object in which names are looked up. */
struct lookup {
    struct kx_slice object;
    struct json_members members;
    bool sorted; /* false if there was no memory for it */
    bool exactly;
};

static bool has_equal_member(struct lookup *lookup, struct kx_slice name,
                             struct kx_slice value)
{
    struct kx_slice other;
    bool found = lookup->sorted
                     ? json_members_find(&lookup->members, name, &other)
                     : search(lookup->object, name, &other);
    return found && equal(value, other, lookup->exactly);
}

/* Names are unique within an object, so two objects are equal if they have the
 * same number of members and each member of a is in b. members.count is valid
 * even without memory to sort. */
static bool equal_objects(struct kx_slice a, struct kx_slice b, bool exactly)
{
    struct lookup lookup;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (!kx_json_iterate(a, &iter))
        return false;
    lookup.object = b;
    lookup.exactly = exactly;
    lookup.sorted = json_members_read(&lookup.members, b);
    size_t count = 0;
    bool same = true;
    for (; same && kx_json_next(&iter, &name, &value); count++)
        same = has_equal_member(&lookup, name, value);
    json_members_free(&lookup.members);
    return same && count == lookup.members.count;
}

/* Texts with equal bytes are equal without further comparison. */
static bool equal(struct kx_slice a, struct kx_slice b, bool exactly)
{
    enum kx_json_type type = kx_json_type(a);
    if (!kx_json_find(a, kx_text(""), &a) || !kx_json_find(b, kx_text(""), &b))
        return false;
    if (kx_json_type(b) != type)
        return false;
    if (kx_equal(a, b))
        return true;
    switch (type) {
    case KX_JSON_OBJECT:
        return equal_objects(a, b, exactly);
    case KX_JSON_ARRAY:
        return equal_arrays(a, b, exactly);
    case KX_JSON_STRING:
        return json_string_equal(a, b);
    case KX_JSON_NUMBER:
        return equal_numbers(a, b, exactly);
    case KX_JSON_NULL:
    case KX_JSON_FALSE:
    case KX_JSON_TRUE:
        return true;
    }
    return false;
}

bool kx_json_equal(struct kx_slice a, struct kx_slice b)
{
    return equal(a, b, false);
}

bool json_equal_exactly(struct kx_slice a, struct kx_slice b)
{
    return equal(a, b, true);
}

size_t json_depth(struct kx_slice text)
{
    const uint8_t *end = text.data + text.size;
    size_t depth = 0;
    size_t deepest = 0;
    for (const uint8_t *at = text.data; at < end; at++) {
        if (*at == '"')
            at = json_skip_string(at, end) - 1;
        else if (*at == '{' || *at == '[')
            deepest = ++depth > deepest ? depth : deepest;
        else if (*at == '}' || *at == ']')
            depth--;
    }
    return deepest;
}
