/* Reads by an index on a real store: in any order in which it leads to
 * its entries, each is given with its own value; and what is not needed is not
 * looked up. */
#include "store.h"

enum { ENTRIES = 400 };

/* The place of entry n in the order of an index. */
static unsigned place_in_order(const char *index, unsigned n)
{
    switch (index[0]) {
    case 'b': /* backwards */
        return ENTRIES - n;
    case 's': /* scattered: 7 has no divisor in common with ENTRIES */
        return n * 7 % ENTRIES;
    case 'r': /* runs of twenty, in another order */
        return (n / 20 * 7 % 20) * 20 + n % 20;
    case 'e': /* every third, then every third from the second on */
        return n % 3 * ENTRIES + n;
    default: /* as they are */
        return n;
    }
}

static const char *const ORDERS[] = {"along", "backwards", "scattered", "runs",
                                     "every"};
enum { ORDER_COUNT = 5 };

static void declare(struct story *s, const char *name, const char *store)
{
    const char *text =
        talloc_asprintf(s->mem,
                        "{\"name\":\"%s\",\"prefix\":[\"e\"],\"fields\":[\"/"
                        "%c\"],\"store\":\"%s\"}",
                        name, name[0], store);
    assert_int_equal(test_declare(&s->test, s->mem, text), KX_OK);
}

/* Stores entries whose values have their places in each order. */
static void fill(struct story *s)
{
    for (size_t i = 0; i < ORDER_COUNT; i++)
        declare(s, ORDERS[i], "pointer");
    declare(s, "copies", "value");
    for (unsigned n = 0; n < ENTRIES; n++) {
        char *key = talloc_asprintf(s->mem, "[\"e\",%u]", n);
        char *value = talloc_asprintf(s->mem, "{\"n\":%u,\"c\":%u", n, n);
        for (size_t i = 0; i < ORDER_COUNT; i++)
            value = talloc_asprintf_append(value, ",\"%c\":%u", ORDERS[i][0],
                                           place_in_order(ORDERS[i], n));
        value = talloc_asprintf_append(value, "}");
        assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
    }
}

static unsigned number_at(struct kx_slice value, const char *pointer)
{
    struct kx_slice token;
    double number;
    assert_true(kx_json_find(value, kx_text(pointer), &token));
    assert_true(kx_number_parse(token, &number));
    return (unsigned)number;
}

static uint64_t resolved(struct story *s)
{
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    return figures.resolved;
}

/* Scans the index; checks order, keys and values. The number of entries. */
static size_t scan(struct story *s, const char *index, struct kx_range range)
{
    char pointer[3] = {'/', index[0], '\0'};
    struct kx_entry entry;
    size_t count = 0;
    long last = -1;
    kx_read_begin(s->test.reader);
    enum kx_status status =
        kx_scan_index(s->test.reader, kx_text(index), &range, NULL);
    assert_int_equal(status, KX_OK);
    while ((status = kx_scan_next(s->test.reader, &entry)) == KX_OK) {
        count++;
        if (range.count_only)
            continue;
        unsigned n = number_at(entry.value.data, "/n");
        struct kx_key_reader key;
        struct kx_part part;
        kx_key_read(&key, entry.key);
        kx_key_next(&key, &part);
        assert_int_equal(kx_key_next(&key, &part), KX_OK);
        assert_int_equal((unsigned)part.number, n);
        long here = (long)number_at(entry.value.data, pointer);
        assert_true(last < 0 || (range.reverse ? here < last : here > last));
        last = here;
    }
    kx_read_end(s->test.reader);
    assert_int_equal(status, KX_END);
    return count;
}

/* Opened again the store has no records in memory: each is looked up in the
 * table, next to the last one or wherever it is. */
TEST_WITH(scan_by_index_finds_entries_in_any_order, begin, finish)
{
    struct story *s = *state;
    struct kx_range back = {.reverse = true};
    struct kx_range range = {.reverse = false};
    fill(s);
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        test_store_close(&s->test);
        test_store_open(&s->test);
        assert_int_equal(scan(s, ORDERS[i], range), ENTRIES);
        assert_int_equal(scan(s, ORDERS[i], back), ENTRIES);
        test_store_close(&s->test);
        test_store_open(&s->test);
        assert_int_equal(scan(s, ORDERS[i], back), ENTRIES);
    }
}

TEST_WITH(covered_reads_look_up_no_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_range all = {.reverse = false};
    struct kx_range count = {.count_only = true};
    fill(s);
    uint64_t before = resolved(s);
    assert_int_equal(scan(s, "copies", all), ENTRIES);
    assert_int_equal(scan(s, "scattered", count), ENTRIES);
    assert_int_equal(resolved(s), before);
    assert_int_equal(scan(s, "scattered", all), ENTRIES);
    assert_int_equal(resolved(s), before + ENTRIES);
}

static void fold(struct story *s, const char *index, const char *parts,
                 const char *expected)
{
    struct kx_buffer out;
    struct kx_buffer text;
    kx_buffer_init(&out, s->mem);
    kx_buffer_init(&text, s->mem);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_fold(s->test.reader, kx_text(index),
                                   test_key(s->mem, parts), &out),
                     KX_OK);
    kx_read_end(s->test.reader);
    kx_key_to_json(kx_buffer_slice(&out), &text);
    kx_add_byte(&text, '\0');
    assert_string_equal((const char *)text.data, expected);
}

TEST_WITH(index_fold_folds_parts_as_their_fields, begin, finish)
{
    struct story *s = *state;
    struct kx_buffer out;
    kx_buffer_init(&out, s->mem);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"i\",\"prefix\":[\"e\"],\"fields\":[{\"path\":"
                 "\"/a\",\"fold\":\"lower\"},\"/b\"]}");
    fold(s, "i", "[]", "[]");
    fold(s, "i", "[\"\xc3\x84\"]", "[\"\xc3\xa4\"]");
    fold(s, "i", "[\"A\",\"B\",\"C\"]", "[\"a\",\"B\",\"C\"]");
    fold(s, "i", "[5,\"B\"]", "[5,\"B\"]");
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_fold(s->test.reader, kx_text("none"),
                                   test_key(s->mem, "[\"A\"]"), &out),
                     KX_INDEX_ABSENT);
    kx_read_end(s->test.reader);
}
