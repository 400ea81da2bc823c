/* Values and the parts of index keys that they become: the order of descending
 * fields is the opposite one, no part begins another, and the values come back.
 */
#include "unit.h"

#include <talloc.h>

#include "schema/extract.h"
#include "schema/indexable.h"

enum { PARTS = 200 };

static const char both[] =
    "{\"name\":\"i\",\"prefix\":[\"p\"],\"fields\":[\"/a\",{\"path\":\"/b\","
    "\"order\":\"desc\",\"fold\":\"lower\"}]}";

static const struct declaration *declared(void *mem, const char *text)
{
    struct declaration *declaration = NULL;
    assert_int_equal(declaration_parse(mem, kx_text(text), &declaration, NULL),
                     KX_OK);
    return declaration;
}

/* Returns a text of few different bytes, so that parts often begin alike. */
static struct kx_slice random_bytes(void *mem, uint64_t *seed,
                                    const char *choice, size_t choices)
{
    size_t size = random_below(seed, 5);
    uint8_t *bytes = talloc_array(mem, uint8_t, size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)choice[random_below(seed, choices)];
    return kx_slice(bytes, size);
}

static struct kx_slice random_part(void *mem, uint64_t *seed)
{
    struct kx_part part = {.type = (enum kx_part_type)random_below(seed, 5)};
    struct kx_buffer key;
    kx_buffer_init(&key, mem);
    part.number = (double)random_below(seed, 7) - 3;
    part.boolean = random_below(seed, 2) > 0;
    part.negative = random_below(seed, 2) > 0;
    if (part.type == KX_STRING)
        part.bytes = random_bytes(mem, seed, "\0\1a~", 4);
    else
        part.bytes = random_bytes(mem, seed, "\0\1\xfe\xff", 4);
    assert_int_equal(kx_key_add(&key, &part), KX_OK);
    return kx_buffer_slice(&key);
}

static struct kx_slice descended(void *mem, struct kx_slice part)
{
    struct kx_buffer key;
    kx_buffer_init(&key, mem);
    kx_add_slice(&key, part);
    assert_int_equal(indexable_descend(&key, 0), KX_OK);
    assert_int_equal(kx_key_check(kx_buffer_slice(&key), NULL), KX_OK);
    return kx_buffer_slice(&key);
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static int begin_memory(void **state);
static int end_memory(void **state);

TEST_WITH(descending_parts_have_the_opposite_order, begin_memory, end_memory)
{
    uint64_t seed = random_seed("extract_lookup_test");
    struct kx_slice parts[PARTS];
    struct kx_slice turned[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = random_part(*state, &seed);
        turned[i] = descended(*state, parts[i]);
    }
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t j = 0; j < PARTS; j++) {
            int order = kx_compare(parts[i], parts[j]);
            assert_int_equal(sign(kx_compare(turned[i], turned[j])),
                             -sign(order));
            assert_true(order == 0 || !kx_starts_with(turned[i], turned[j]));
        }
    }
}

TEST_WITH(null_part_sorts_first, begin_memory, end_memory)
{
    uint64_t seed = random_seed("extract_lookup_test");
    struct kx_buffer null;
    kx_buffer_init(&null, *state);
    assert_int_equal(indexable_add_null(&null), KX_OK);
    assert_true(indexable_is_null(kx_buffer_slice(&null)));
    for (size_t i = 0; i < PARTS; i++) {
        struct kx_slice part = random_part(*state, &seed);
        int order = kx_compare(kx_buffer_slice(&null), part);
        assert_true(order < 0 || (order == 0 && indexable_is_null(part)));
    }
}

TEST_WITH(values_read_back_from_index_keys, begin_memory, end_memory)
{
    uint64_t seed = random_seed("extract_lookup_test");
    const struct declaration *declaration = declared(*state, both);
    size_t skip = declaration->name_key.size;
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    for (size_t i = 0; i < PARTS; i++) {
        struct kx_buffer parts;
        struct kx_buffer values;
        size_t count = 1 + random_below(&seed, 4);
        kx_buffer_init(&parts, *state);
        kx_buffer_init(&values, *state);
        for (size_t n = 0; n < count; n++)
            kx_add_slice(&parts, random_part(*state, &seed));
        assert_int_equal(
            extract_lookup(declaration, kx_buffer_slice(&parts), &key), KX_OK);
        extract_lookup_values(
            declaration, kx_slice(key.data + skip, key.size - skip), &values);
        assert_true(
            kx_equal(kx_buffer_slice(&values), kx_buffer_slice(&parts)));
        assert_int_equal(kx_equal(kx_buffer_slice(&values),
                                  kx_slice(key.data + skip, key.size - skip)),
                         count < 2);
    }
}

/* A descending field refuses parts of other types, and bytes that are not the
 * complement of one part. */
TEST_WITH(descending_field_rejects_other_parts, begin_memory, end_memory)
{
    uint64_t seed = random_seed("extract_lookup_test");
    size_t made = 0;
    size_t refused = 0;
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    for (size_t i = 0; i < 10 * PARTS; i++) {
        struct kx_slice part = random_part(*state, &seed);
        out.size = 0;
        if (indexable_ascend(part, &out) == KX_OK) {
            assert_true(
                kx_equal(descended(*state, kx_buffer_slice(&out)), part));
            made++;
        } else {
            assert_int_equal(out.size, 0);
            refused++;
        }
        out.size = 0;
        struct kx_slice once = descended(*state, part);
        assert_int_equal(indexable_ascend(once, &out), KX_OK);
        assert_true(kx_equal(kx_buffer_slice(&out), part));
    }
    assert_true(made > 0 && refused > made);
}

static int begin_memory(void **state)
{
    *state = talloc_new(NULL);
    return 0;
}

static int end_memory(void **state)
{
    return talloc_free(*state);
}
