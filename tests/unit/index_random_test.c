/* After every one of some thousand random commits, expiries and restarts, the
 * entries of each index are those that a rebuild from the data gives, computed
 * here anew with jansson. KX_TEST_SEED=n replays a run.
 */
#include <jansson.h>

#include "../lib/store.h"

enum { COMMITS = 3000, OWNERS = 12 };

struct shape {
    const char *name;
    const char *fields[2];
    bool unique;
    bool copy;
};

static const struct shape shapes[] = {
    {"by_u", {"u", NULL}, true, false},
    {"copy_u", {"u", NULL}, true, true},
    {"by_ab", {"a", "b"}, false, false},
    {"copy_a", {"a", NULL}, false, true},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct line {
    struct kx_slice key;
    const char *text;
};

static void declare_all(struct test_store *test, void *mem)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *shape = &shapes[i];
        char *second = shape->fields[1] == NULL
                           ? talloc_strdup(mem, "")
                           : talloc_asprintf(mem, ",\"/%s\"", shape->fields[1]);
        char *text = talloc_asprintf(
            mem,
            "{\"name\":\"%s\",\"prefix\":[\"p\"],\"fields\":[\"/%s\"%s],"
            "\"unique\":%s,\"store\":\"%s\"}",
            shape->name, shape->fields[0], second,
            shape->unique ? "true" : "false",
            shape->copy ? "value" : "pointer");
        assert_int_equal(test_declare(test, mem, text), KX_OK);
    }
}

/* Appends a scalar member as a key part; false when it is not indexable. */
static bool add_member(struct kx_buffer *key, const json_t *document,
                       const char *name)
{
    const json_t *value = json_object_get(document, name);
    if (json_is_string(value))
        kx_key_add_string(key, kx_text(json_string_value(value)));
    else if (json_is_number(value))
        kx_key_add_number(key, json_number_value(value));
    else if (json_is_boolean(value))
        kx_key_add_boolean(key, json_is_true(value));
    else
        return false;
    return true;
}

static bool expected_line(void *mem, const struct shape *shape,
                          const struct kx_entry *entry, struct line *line_out)
{
    struct kx_buffer key;
    struct kx_buffer text;
    kx_buffer_init(&key, mem);
    kx_buffer_init(&text, mem);
    json_t *document =
        json_loadb((const char *)entry->value.data.data, entry->value.data.size,
                   JSON_DECODE_ANY, NULL);
    kx_key_add_string(&key, kx_text(shape->name));
    bool indexed = add_member(&key, document, shape->fields[0]);
    if (indexed && shape->fields[1] != NULL)
        indexed = add_member(&key, document, shape->fields[1]);
    json_decref(document);
    size_t skip = test_key(mem, "[\"p\"]").size;
    struct kx_slice owner =
        kx_slice(entry->key.data + skip, entry->key.size - skip);
    if (!shape->unique)
        kx_add_slice(&key, owner);
    struct kx_entry shown = {.key = kx_buffer_slice(&key),
                             .value = entry->value};
    if (!shape->copy)
        shown.value = (struct kx_value){.encoding = KX_POINTER, .data = owner};
    test_show(&shown, &text);
    kx_add_byte(&text, 0);
    *line_out = (struct line){.key = kx_buffer_slice(&key),
                              .text = (const char *)text.data};
    return indexed;
}

static int by_key(const void *a, const void *b)
{
    return kx_compare(((const struct line *)a)->key,
                      ((const struct line *)b)->key);
}

/* What a rebuild of one index from all owners would list. */
static const char *rebuild(struct test_store *test, void *mem,
                           const struct shape *shape)
{
    struct line lines[OWNERS];
    size_t count = 0;
    struct kx_range range = {.start = test_key(mem, "[\"p\",0]"),
                             .end = test_key(mem, "[\"p\",1000]")};
    struct kx_entry entry;
    kx_read_begin(test->reader);
    assert_int_equal(kx_scan(test->reader, &range, NULL), KX_OK);
    while (kx_scan_next(test->reader, &entry) == KX_OK)
        count += expected_line(mem, shape, &entry, &lines[count]);
    kx_read_end(test->reader);
    qsort(lines, count, sizeof lines[0], by_key);
    char *out = talloc_strdup(mem, "");
    for (size_t i = 0; i < count; i++)
        out = talloc_strdup_append(out, lines[i].text);
    return out;
}

static void compare_all(struct test_store *test, void *mem, const char *after)
{
    for (size_t i = 0; i < SHAPES; i++) {
        char *prefix = talloc_asprintf(mem, "[\"%s\"]", shapes[i].name);
        const char *have = test_list(test, mem, prefix);
        const char *want = rebuild(test, mem, &shapes[i]);
        if (strcmp(have, want) != 0)
            fail_msg("index %s after %s:\nhave %s\nwant %s", shapes[i].name,
                     after, have, want);
    }
}

static const char *random_scalar(uint64_t *seed, void *mem, size_t variety)
{
    static const char *const other[] = {"null", "[1]", "{}", "true", "false"};
    size_t n = random_below(seed, variety);
    switch (random_below(seed, 6)) {
    case 0:
        return other[n % 5];
    case 1:
        return talloc_asprintf(mem, "%zu", n);
    case 2:
        return talloc_asprintf(mem, "-%zu.5e1", n);
    default:
        return talloc_asprintf(mem, "\"v%zu\"", n);
    }
}

static struct kx_mutation random_mutation(uint64_t *seed, void *mem)
{
    char *key = talloc_asprintf(mem, "[\"p\",%zu]", random_below(seed, OWNERS));
    struct kx_mutation mutation = {.type = KX_DELETE,
                                   .key = test_key(mem, key)};
    if (random_below(seed, 4) == 0)
        return mutation;
    mutation.type = KX_SET;
    mutation.value = test_json(talloc_asprintf(
        mem, "{\"u\":%s,\"a\":%s,\"b\":%s}", random_scalar(seed, mem, 40),
        random_scalar(seed, mem, 3), random_scalar(seed, mem, 3)));
    if (random_below(seed, 5) == 0)
        mutation.expires_at_ms =
            kx_now_ms() + 1 + (int64_t)(random_below(seed, 30));
    return mutation;
}

static void run_commit(struct test_store *test, void *mem, uint64_t *seed)
{
    struct kx_mutation mutations[4];
    size_t count = 1 + random_below(seed, 4);
    for (size_t i = 0; i < count; i++)
        mutations[i] = random_mutation(seed, mem);
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = mem};
    enum kx_status status = test_commit(test, &commit);
    if (status != KX_OK)
        assert_int_equal(status, KX_UNIQUE_VIOLATION);
}

static void indexes_equal_a_rebuild_after_every_commit(void **state)
{
    uint64_t seed = random_seed("index_random_test");
    struct test_store test;
    (void)state;
    test_store_new(&test);
    void *mem = talloc_new(NULL);
    declare_all(&test, mem);
    int64_t now = 1000000;
    for (int i = 0; i < COMMITS; i++) {
        char after[32];
        kx_clock_set(now += (int64_t)random_below(&seed, 4));
        talloc_free_children(mem);
        run_commit(&test, mem, &seed);
        snprintf(after, sizeof after, "commit %d", i);
        compare_all(&test, mem, after);
        if (random_below(&seed, 500) == 0) {
            test_store_close(&test);
            test_store_open(&test);
        }
    }
    talloc_free(mem);
    kx_clock_set(0);
    test_store_remove(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_equal_a_rebuild_after_every_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
