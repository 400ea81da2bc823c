/* Which changed keys a watch of a prefix collects, and what it reports when
 * there are too many. */
#include "waiter.h"

static void open_prefix(struct story *s, struct waiter *waiter,
                        const char *prefix)
{
    *waiter = (struct waiter){.ticket.owner = &waiter->told};
    assert_int_equal(
        kx_watch_open_prefix(s->test.store, test_key(s->mem, prefix),
                             KX_WATCH_KEYS, s->mem, &waiter->watch),
        KX_OK);
}

/* Returns the collected keys as JSON, each with '|' after it; NULL: reset. */
static const char *taken(struct story *s, struct waiter *waiter)
{
    struct kx_slice *keys =
        talloc_array(s->mem, struct kx_slice, KX_WATCH_CHANGES_MAX);
    struct kx_buffer bytes;
    struct kx_buffer text;
    size_t count;
    kx_buffer_init(&bytes, s->mem);
    kx_buffer_init(&text, s->mem);
    if (!kx_watch_take(waiter->watch, keys, &count, &bytes)) {
        assert_int_equal(count, 0);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        kx_key_to_json(keys[i], &text);
        kx_add_byte(&text, '|');
    }
    kx_add_byte(&text, '\0');
    return (const char *)text.data;
}

TEST_WITH(watch_of_a_prefix_collects_keys_with_more_parts, begin,
          finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    open_prefix(s, &waiter, "[\"a\",1]");
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    test_set(&s->test, s->mem, "[\"a\",2,1]", "1");
    test_set(&s->test, s->mem, "[\"a\",\"1\",1]", "1");
    test_set(&s->test, s->mem, "[\"b\",1,1]", "1");
    is_not_told(s, &waiter);
    assert_string_equal(taken(s, &waiter), "");
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\",1,true]", "1");
    is_told(s, &waiter);
    test_set(&s->test, s->mem, "[\"a\",1,2,3]", "1");
    assert_string_equal(taken(s, &waiter), "[\"a\",1,true]|[\"a\",1,2,3]|");
    assert_int_equal(wait_for(&waiter), KX_END);
    assert_string_equal(taken(s, &waiter), "");
}

TEST_WITH(empty_prefix_collects_all_keys, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter all;
    struct waiter some;
    open_prefix(s, &all, "[]");
    open_prefix(s, &some, "[\"a\"]");
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    test_set(&s->test, s->mem, "[0]", "1");
    assert_string_equal(taken(s, &all), "[\"a\",1]|[0]|");
    assert_string_equal(taken(s, &some), "[\"a\",1]|");
}

/* The longest key there can be, with prefixes of all of its parts. */
TEST_WITH(watches_of_all_prefixes_of_a_long_key_collect_it, begin,
          finish_watches)
{
    enum { PARTS = KX_KEY_MAX / 2 };
    struct story *s = *state;
    struct waiter first;
    struct waiter last;
    char prefix[3 * PARTS];
    char key[3 * PARTS + 8];
    size_t size = 0;
    size += (size_t)snprintf(prefix, sizeof prefix, "[\"\"");
    for (int i = 1; i < PARTS - 1; i++)
        size += (size_t)snprintf(prefix + size, sizeof prefix - size, ",\"\"");
    snprintf(prefix + size, sizeof prefix - size, "]");
    snprintf(key, sizeof key, "%.*s,\"\"]", (int)size, prefix);
    assert_int_equal(test_key(s->mem, key).size, KX_KEY_MAX);
    open_prefix(s, &first, "[\"\"]");
    open_prefix(s, &last, prefix);
    test_set(&s->test, s->mem, key, "1");
    assert_non_null(strstr(taken(s, &first), "\"\""));
    assert_non_null(strstr(taken(s, &last), "\"\""));
    talloc_free(first.watch);
    test_set(&s->test, s->mem, key, "2");
    assert_non_null(strstr(taken(s, &last), "\"\""));
}

TEST_WITH(watch_collects_each_kind_of_change_once, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    test_set(&s->test, s->mem, "[\"a\",0]", "1");
    open_prefix(s, &waiter, "[\"a\"]");
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    test_set(&s->test, s->mem, "[\"a\",2]", "1");
    test_mutate(&s->test, s->mem, KX_SUM, "[\"a\",1]", "1");
    test_delete(&s->test, s->mem, "[\"a\",1]");
    test_delete(&s->test, s->mem, "[\"a\",0]");
    assert_string_equal(taken(s, &waiter), "[\"a\",1]|[\"a\",2]|[\"a\",0]|");
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    assert_string_equal(taken(s, &waiter), "[\"a\",1]|");
}

TEST_WITH(watch_collects_entries_of_an_index, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_s\",\"prefix\":[\"p\"],"
                                  "\"fields\":[\"/s\"]}"),
                     KX_OK);
    open_prefix(s, &waiter, "[\"by_s\",\"x\"]");
    test_set(&s->test, s->mem, "[\"p\",1]", "{\"s\":\"x\"}");
    test_set(&s->test, s->mem, "[\"p\",2]", "{\"s\":\"y\"}");
    assert_string_equal(taken(s, &waiter), "[\"by_s\",\"x\",1]|");
    test_set(&s->test, s->mem, "[\"p\",1]", "{\"s\":\"y\"}");
    assert_string_equal(taken(s, &waiter), "[\"by_s\",\"x\",1]|");
}

/* Anything under any prefix: it is not looked at which. */
TEST_WITH(new_or_dropped_index_resets_all_watches, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    open_prefix(s, &waiter, "[\"q\"]");
    assert_int_equal(wait_for(&waiter), KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_s\",\"prefix\":[\"p\"],"
                                  "\"fields\":[\"/s\"]}"),
                     KX_OK);
    is_told(s, &waiter);
    assert_null(taken(s, &waiter));
    test_set(&s->test, s->mem, "[\"q\",1]", "1");
    assert_string_equal(taken(s, &waiter), "[\"q\",1]|");
}

static void set_number(struct story *s, int number)
{
    char key[32];
    snprintf(key, sizeof key, "[\"a\",%d]", number);
    test_set(&s->test, s->mem, key, "1");
}

TEST_WITH(watch_collects_a_limited_number_of_keys, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    open_prefix(s, &waiter, "[\"a\"]");
    for (int i = 0; i < KX_WATCH_CHANGES_MAX; i++)
        set_number(s, i);
    set_number(s, 0);
    const char *all = taken(s, &waiter);
    assert_non_null(all);
    assert_non_null(strstr(all, "[\"a\",0]|"));
    assert_non_null(strstr(all, "[\"a\",999]|"));
    for (int i = 0; i <= KX_WATCH_CHANGES_MAX; i++)
        set_number(s, i);
    set_number(s, 5);
    assert_null(taken(s, &waiter));
    set_number(s, 5);
    assert_string_equal(taken(s, &waiter), "[\"a\",5]|");
}

/* A watch without space for more keys is told to list. */
TEST_WITH(all_watches_share_a_limit_of_memory, begin, finish_watches)
{
    enum { WATCHES = 300, KEYS = 120, KEY_BYTES = 1904 };
    struct story *s = *state;
    struct waiter waiters[WATCHES];
    char key[2000];
    size_t whole = 0;
    for (int i = 0; i < WATCHES; i++)
        open_prefix(s, &waiters[i], "[\"a\"]");
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "[\"a\",\"%01900d\"]", i);
        test_set(&s->test, s->mem, key, "1");
    }
    for (int i = 0; i < WATCHES; i++)
        whole += taken(s, &waiters[i]) != NULL;
    assert_in_range(whole * KEYS * KEY_BYTES, 16 << 20, 32 << 20);
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    for (int i = 0; i < WATCHES; i++) {
        assert_string_equal(taken(s, &waiters[i]), "[\"a\",1]|");
        kx_watch_close(waiters[i].watch);
    }
}

TEST_WITH(watch_collects_a_limited_number_of_bytes, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    char key[2000];
    open_prefix(s, &waiter, "[\"a\"]");
    for (int i = 0; i < 150; i++) {
        snprintf(key, sizeof key, "[\"a\",\"%01900d\"]", i);
        test_set(&s->test, s->mem, key, "1");
        if (i == 100)
            assert_non_null(taken(s, &waiter));
    }
    assert_non_null(taken(s, &waiter));
    for (int i = 0; i < 150; i++) {
        snprintf(key, sizeof key, "[\"a\",\"%01900d\"]", i);
        test_set(&s->test, s->mem, key, "1");
    }
    assert_null(taken(s, &waiter));
}
