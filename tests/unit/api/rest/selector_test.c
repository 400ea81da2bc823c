/* Selections: which range they are, and which are refused. */
#include "rest/cursor.h"
#include "rest/selector.h"
#include "unit.h"

/* Selections are written as queries. */
enum {
    ALLOWED =
        TAKES_PREFIX | TAKES_START | TAKES_END | TAKES_INDEX | TAKES_REVERSE
};

static bool make(const char *text, void *memory, struct selector *selector,
                 struct input_error *error)
{
    struct query_params query;
    struct selection *selection = talloc(memory, struct selection);
    selection_init(selection, memory);
    return query_params_read(kx_text(text), ALLOWED, memory, &query, error) &&
           selection_read(&query, selection, error) &&
           selector_make(selection, memory, selector, error);
}

static const struct {
    const char *query;
    const char *start; /* bytes in hexadecimal */
    const char *end;
} TAKEN[] = {
    {"", "00", "ff"},
    {"prefix=[]", "00", "ff"},
    {"prefix=a", "02610000", "026100ff"},
    {"prefix=a&start=a/b", "026100026200", "026100ff"},
    {"prefix=a&end=a/b", "02610000", "026100026200"},
    {"start=a&end=b", "026100", "026200"},
    {"start=a&end=a", "026100", "026100"},
    {"prefix=a&reverse", "02610000", "026100ff"},
    /* Within an index: the very key too, and open ends. */
    {"index=i", "", ""},
    {"index=i&prefix=a", "026100", "026100ff"},
    {"index=i&start=a", "026100", ""},
    {"index=i&end=a", "", "026100"},
    {"index=i&start=a&end=b", "026100", "026200"},
};

static void same_bytes(const char *query, struct kx_slice bytes,
                       const char *expected)
{
    char text[200] = "";
    for (size_t i = 0; i < bytes.size; i++)
        snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", bytes.data[i]);
    if (strcmp(text, expected) != 0)
        fail_msg("%s: %s is not %s", query, text, expected);
}

TEST_WITH(selector_makes_ranges_of_selections, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++) {
        struct selector selector;
        struct input_error error;
        if (!make(TAKEN[i].query, *state, &selector, &error))
            fail_msg("%s: %s", TAKEN[i].query, error.detail);
        same_bytes(TAKEN[i].query, selector.range.start, TAKEN[i].start);
        same_bytes(TAKEN[i].query, selector.range.end, TAKEN[i].end);
    }
    talloc_free_children(*state);
}

TEST_WITH(selector_rejects_contradictory_selections, memory_open, memory_close)
{
    static const char *const REFUSED[] = {
        "start=a",
        "end=a",
        "prefix=a&start=a/b&end=a/c",
        "prefix=a&start=b",
        "prefix=a&start=a",
        "prefix=a&end=a",
        /* Its encoding begins with that of "a", but it is another string. */
        "prefix=a&start=a%00b",
        "start=b&end=a",
        "index=i&prefix=a&start=b",
        "index=i&start=b&end=a",
    };
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct selector selector;
        struct input_error error;
        if (make(REFUSED[i], *state, &selector, &error))
            fail_msg("%s was taken", REFUSED[i]);
        assert_int_equal(error.code, PROBLEM_BAD_PARAMETER);
    }
    talloc_free_children(*state);
}

TEST_WITH(resumed_range_begins_after_position, memory_open, memory_close)
{
    struct selector selector;
    struct input_error error;
    struct kx_buffer bound;
    kx_buffer_init(&bound, *state);
    assert_true(make("prefix=a", *state, &selector, &error));
    assert_true(selector_resume(&selector, kx_slice("\2a\0\2b\0", 6), &bound));
    same_bytes("forward", selector.range.after, "026100026200");
    same_bytes("forward", selector.range.start, "02610000");
    same_bytes("forward", selector.range.end, "026100ff");
    assert_true(make("prefix=a&reverse", *state, &selector, &error));
    assert_true(selector_resume(&selector, kx_slice("\2a\0\2b\0", 6), &bound));
    same_bytes("reverse", selector.range.start, "02610000");
    same_bytes("reverse", selector.range.after, "026100026200");
    same_bytes("reverse", selector.range.end, "026100ff");
    talloc_free_children(*state);
}

TEST_WITH(resumed_range_never_exceeds_its_bounds, memory_open, memory_close)
{
    struct selector selector;
    struct input_error error;
    struct kx_buffer bound;
    kx_buffer_init(&bound, *state);
    assert_true(make("prefix=a", *state, &selector, &error));
    assert_false(selector_resume(&selector, kx_slice("\2A\0", 3), &bound));
    assert_false(selector_resume(&selector, kx_slice("\2b\0", 3), &bound));
    assert_false(selector_resume(&selector, kx_slice("\2a\0\xff", 4), &bound));
    assert_false(selector_resume(&selector, kx_slice("", 0), &bound));
    assert_true(make("index=i", *state, &selector, &error));
    assert_true(selector_resume(&selector, kx_slice("\2b\0", 3), &bound));
    talloc_free_children(*state);
}

/* A cursor is checked for its list, so only a damaged or foreign one has a
 * position that the list does not have. */
TEST_WITH(selector_continue_stays_within_the_list, memory_open, memory_close)
{
    static const struct {
        struct kx_slice position;
        uint64_t list;
        int code; /* -1: it is taken */
    } CURSORS[] = {
        {{(const uint8_t *)"\2a\0\2b\0", 6}, 7, -1},
        {{(const uint8_t *)"\2a\0\2b\0", 6}, 8, PROBLEM_CURSOR_MISMATCH},
        {{(const uint8_t *)"\2A\0", 3}, 7, PROBLEM_CURSOR_INVALID},
        {{(const uint8_t *)"\2b\0", 3}, 7, PROBLEM_CURSOR_INVALID},
    };
    for (size_t i = 0; i < sizeof CURSORS / sizeof *CURSORS; i++) {
        struct selector selector;
        struct input_error error;
        struct kx_buffer bound;
        struct kx_buffer cursor;
        kx_buffer_init(&bound, *state);
        kx_buffer_init(&cursor, *state);
        cursor_write(CURSORS[i].list, CURSORS[i].position, &cursor);
        assert_true(make("prefix=a", *state, &selector, &error));
        bool done = selector_continue(&selector, kx_buffer_slice(&cursor), 7,
                                      &bound, &error);
        assert_int_equal(done, CURSORS[i].code == -1);
        assert_true(kx_equal(selector.range.after,
                             done ? CURSORS[i].position : kx_slice(NULL, 0)));
        if (done)
            continue;
        assert_int_equal(error.code, CURSORS[i].code);
        assert_true(kx_equal(error.parameter, kx_text("cursor")));
    }
    talloc_free_children(*state);
}
