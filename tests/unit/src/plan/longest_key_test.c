/* Keys as long as they may be, and the rows and bounds that are made of them:
 * an index puts its name before a value, and a conflict row has an index key
 * and an owner in it. */
#include "store.h"

#include "entry/record.h"

enum { TEXT_MAX = KX_KEY_MAX - 2 }; /* of the only part of a key */

/* A JSON string of so many letters. */
static const char *letters(struct story *s, size_t count, char letter)
{
    char *text = talloc_array(s->mem, char, count + 3);
    memset(text, letter, count + 2);
    text[0] = '"';
    text[count + 1] = '"';
    text[count + 2] = '\0';
    return text;
}

static const char *array(struct story *s, const char *part)
{
    return talloc_asprintf(s->mem, "[%s]", part);
}

static size_t count_all(struct story *s, bool reverse)
{
    struct kx_range range = {.reverse = reverse};
    return test_count(&s->test, &range);
}

/* Bounds of a list by index are longer than any key by the index's name. */
TEST_WITH(scan_bound_may_exceed_the_key_limit_after_an_index_name, begin,
          finish)
{
    struct story *s = *state;
    struct kx_entry entry;
    char *name = talloc_array(s->mem, char, KX_INDEX_NAME_MAX + 1);
    memset(name, 'i', KX_INDEX_NAME_MAX);
    name[KX_INDEX_NAME_MAX] = '\0';
    struct kx_slice bound =
        test_key(s->mem, array(s, letters(s, TEXT_MAX, 'a')));
    assert_int_equal(bound.size, KX_KEY_MAX);
    test_declare(&s->test, s->mem,
                 talloc_asprintf(s->mem,
                                 "{\"name\":\"%s\",\"prefix\":[\"u\"],"
                                 "\"fields\":[\"/n\"]}",
                                 name));
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":\"b\"}");
    for (int reverse = 0; reverse < 2; reverse++) {
        struct kx_range range = {.start = bound, .reverse = reverse != 0};
        kx_read_begin(s->test.reader);
        assert_int_equal(
            kx_scan_index(s->test.reader, kx_text(name), &range, NULL), KX_OK);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_OK);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_END);
        range.end = bound;
        range.start.size = 0;
        assert_int_equal(
            kx_scan_index(s->test.reader, kx_text(name), &range, NULL), KX_OK);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_END);
        kx_read_end(s->test.reader);
    }
}

/* Entries under the longest keys with one value, the longest that a unique
 * index named "i" can have: the row of the second owner is the longest of all.
 */
TEST_WITH(conflict_rows_may_exceed_the_key_limit, begin, finish)
{
    struct story *s = *state;
    const char *value =
        talloc_asprintf(s->mem, "{\"n\":%s}", letters(s, KX_KEY_MAX - 5, 'v'));
    for (char letter = 'a'; letter <= 'c'; letter++)
        assert_int_equal(test_set(&s->test, s->mem,
                                  array(s, letters(s, TEXT_MAX, letter)),
                                  value),
                         KX_OK);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"i\",\"prefix\":[],\"fields\":[\"/n\"],"
                 "\"unique\":true}");
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "i", &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_CONFLICTED);
    assert_int_equal(info.conflicts, 2);
    assert_int_equal(count_all(s, false), 3);
    assert_int_equal(count_all(s, true), 3);
    assert_int_equal(test_drop(&s->test, s->mem, "i"), KX_OK);
    assert_int_equal(count_all(s, true), 3);
}
