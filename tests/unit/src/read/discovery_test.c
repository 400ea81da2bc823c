/* Stores as hand-kept indexes leave them: as Deno's guide writes them, and in
 * the layouts of kvdex and kv-toolbox; with planted faults of each kind, which
 * must be found, and planted coincidences, which must not be proposed. */
#include "store.h"

enum { USERS = 20, SLICE = 7 };

static const char *const COLOURS[] = {"blue", "green", "red"};

static struct kx_discovery *discover(struct story *s)
{
    struct kx_discovery *discovery = NULL;
    enum kx_status status = KX_OK;
    assert_int_equal(kx_discover_begin(s->mem, kx_slice(NULL, 0), &discovery),
                     KX_OK);
    while (status == KX_OK) {
        kx_read_begin(s->test.reader);
        status = kx_discover_next(discovery, s->test.reader, SLICE);
        kx_read_end(s->test.reader);
    }
    assert_int_equal(status, KX_END);
    return discovery;
}

/* "declaration form adopts fits agree/entries dangling missing stale duplicate"
 * of each index that was found. */
static const char *report(struct story *s)
{
    struct kx_discovery *discovery = discover(s);
    const struct kx_hand_index *found;
    char *out = talloc_strdup(s->mem, "");
    for (size_t n = 0; (found = kx_discover_found(discovery, n)) != NULL; n++)
        out = talloc_asprintf_append(
            out, "%.*s %s%s%s %u/%u %u %u %u %u\n",
            (int)found->declaration.size, (const char *)found->declaration.data,
            kx_hand_form_text(found->form), found->adopts ? " adopts" : "",
            found->fits ? " fits" : "", (unsigned)found->agree,
            (unsigned)found->entries, (unsigned)found->counts[KX_DANGLING],
            (unsigned)found->counts[KX_MISSING],
            (unsigned)found->counts[KX_STALE],
            (unsigned)found->counts[KX_DUPLICATE]);
    return out;
}

static void set(struct story *s, const char *key, const char *value)
{
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
}

static char *user(void *mem, int n)
{
    return talloc_asprintf(
        mem,
        "{\"id\":\"u%02d\",\"name\":\"Name %d\",\"email\":\"User%d@x.org\","
        "\"favoriteColor\":\"%s\",\"active\":%s,\"tags\":[\"t%d\",\"all\"],"
        "\"level\":%d}",
        n, n % 7, n, COLOURS[n % 3], n % 2 == 0 ? "true" : "false", n, n % 4);
}

/* KEY and VALUE are formats of talloc_asprintf with the user's number. */
#define FOR_USERS(s, KEY, VALUE)                                               \
    for (int n = 0; n < USERS; n++)                                            \
    set(s, talloc_asprintf((s)->mem, KEY, n),                                  \
        talloc_asprintf((s)->mem, VALUE, n))

static void set_users(struct story *s)
{
    for (int n = 0; n < USERS; n++)
        set(s, talloc_asprintf(s->mem, "[\"users\",\"u%02d\"]", n),
            user(s->mem, n));
}

static void set_colours(struct story *s, const char *value)
{
    for (int n = 0; n < USERS; n++)
        set(s,
            talloc_asprintf(s->mem,
                            "[\"users_by_favorite_color\",\"%s\",\"u%02d\"]",
                            COLOURS[n % 3], n),
            value != NULL ? talloc_asprintf(s->mem, value, n)
                          : user(s->mem, n));
}

#define BY_EMAIL                                                               \
    "{\"name\":\"users_by_email\",\"prefix\":[\"users\"],\"fields\":[{"        \
    "\"path\":\"/email\""
#define BY_COLOUR                                                              \
    "{\"name\":\"users_by_favorite_color\",\"prefix\":[\"users\"],\"fields\":" \
    "[{\"path\":\"/favoriteColor\"}]"

TEST_WITH(pointers_of_the_guide_are_found, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    FOR_USERS(s, "[\"users_by_email\",\"user%d@x.org\"]", "\"u%02d\"");
    set_colours(s, "\"u%02d\"");
    assert_string_equal(
        report(s), BY_EMAIL
        ",\"fold\":\"lower\"}],\"unique\":true,\"adopt\":true} parts adopts "
        "fits 20/20 0 0 0 0\n" BY_COLOUR
        ",\"adopt\":true} parts adopts fits 20/20 0 0 0 0\n");
}

TEST_WITH(copies_of_the_guide_are_found, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    set_colours(s, NULL);
    for (int n = 0; n < USERS; n++)
        set(s,
            talloc_asprintf(s->mem, "[\"users_by_email\",\"User%d@x.org\"]", n),
            user(s->mem, n));
    assert_string_equal(
        report(s), BY_EMAIL
        "}],\"unique\":true,\"store\":\"value\",\"adopt\":true} copy adopts "
        "fits 20/20 0 0 0 0\n" BY_COLOUR
        ",\"store\":\"value\",\"adopt\":true} copy adopts fits "
        "20/20 0 0 0 0\n");
}

TEST_WITH(faults_of_each_kind_are_counted_and_shown, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    FOR_USERS(s, "[\"users_by_email\",\"user%d@x.org\"]", "\"u%02d\"");
    assert_int_equal(
        test_delete(&s->test, s->mem, "[\"users_by_email\",\"user3@x.org\"]"),
        KX_OK);
    set(s, "[\"users_by_email\",\"gone@x.org\"]", "\"u99\"");
    set(s, "[\"users_by_email\",\"old@x.org\"]", "\"u04\"");
    set(s, "[\"users\",\"u98\"]", "{\"id\":\"u98\",\"email\":\"user5@x.org\"}");
    assert_string_equal(
        report(s), BY_EMAIL
        ",\"fold\":\"lower\"}],\"unique\":true,\"adopt\":true} parts adopts "
        "fits 19/21 1 1 1 1\n");
    const struct kx_hand_index *found = kx_discover_found(discover(s), 0);
    static const char *const shown[KX_DAMAGES][2] = {
        [KX_MISSING] = {"[\"users_by_email\",\"user3@x.org\"]",
                        "[\"users\",\"u03\"]"},
        [KX_DANGLING] = {"[\"users_by_email\",\"gone@x.org\"]",
                         "[\"users\",\"u99\"]"},
        [KX_STALE] = {"[\"users_by_email\",\"old@x.org\"]",
                      "[\"users\",\"u04\"]"},
        [KX_DUPLICATE] = {"[\"users_by_email\",\"user5@x.org\"]",
                          "[\"users\",\"u98\"]"}};
    for (int i = 0; i < KX_DAMAGES; i++) {
        struct kx_slice key = test_key(s->mem, shown[i][0]);
        struct kx_slice primary = test_key(s->mem, shown[i][1]);
        const struct kx_damaged *sample = &found->samples[i][0];
        assert_int_equal(found->sample_counts[i], 1);
        assert_true(kx_equal(
            key, kx_slice(sample->index_key.key, sample->index_key.size)));
        assert_true(
            kx_equal(primary, kx_slice(sample->key.key, sample->key.size)));
    }
}

TEST_WITH(a_copy_that_differs_is_stale, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    set_colours(s, NULL);
    set(s, "[\"users_by_favorite_color\",\"blue\",\"u00\"]",
        "{\"id\":\"u00\",\"favoriteColor\":\"blue\"}");
    assert_string_equal(report(s), BY_COLOUR
                        ",\"store\":\"value\",\"adopt\":true} copy adopts fits "
                        "19/20 0 0 1 0\n");
}

TEST_WITH(keys_members_and_empty_values_are_found, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    FOR_USERS(s, "[\"full\",\"User%d@x.org\"]", "[\"users\",\"u%02d\"]");
    for (int n = 0; n < USERS; n++) {
        set(s,
            talloc_asprintf(s->mem, "[\"part\",\"%s\",\"u%02d\"]",
                            COLOURS[n % 3], n),
            talloc_asprintf(s->mem, "{\"email\":\"User%d@x.org\",\"level\":%d}",
                            n, n % 4));
        set(s, talloc_asprintf(s->mem, "[\"tags\",\"t%d\",\"u%02d\"]", n, n),
            "true");
        set(s, talloc_asprintf(s->mem, "[\"tags\",\"all\",\"u%02d\"]", n),
            "true");
        set(s,
            talloc_asprintf(s->mem, "[\"two\",%d,\"%s\",\"u%02d\"]", n % 4,
                            COLOURS[n % 3], n),
            talloc_asprintf(s->mem, "\"u%02d\"", n));
    }
    assert_string_equal(
        report(s),
        "{\"name\":\"full\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"
        "\"/email\"}],\"unique\":true,\"adopt\":true} key adopts 20/20 0 0 0 "
        "0\n"
        "{\"name\":\"part\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"
        "\"/favoriteColor\"}],\"store\":{\"fields\":[\"/email\",\"/level\"]},"
        "\"adopt\":true} members adopts fits 20/20 0 0 0 0\n"
        "{\"name\":\"tags\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"
        "\"/tags\",\"each\":true}],\"adopt\":true} empty adopts 40/40 0 0 0 "
        "0\n"
        "{\"name\":\"two\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"
        "\"/level\"},{\"path\":\"/favoriteColor\"}],\"adopt\":true} parts "
        "adopts fits 20/20 0 0 0 0\n");
}

TEST_WITH(a_condition_that_explains_what_is_missing_is_found, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    for (int n = 0; n < USERS; n += 2)
        set(s,
            talloc_asprintf(s->mem, "[\"active_by_email\",\"User%d@x.org\"]",
                            n),
            talloc_asprintf(s->mem, "\"u%02d\"", n));
    assert_string_equal(report(s),
                        "{\"name\":\"active_by_email\",\"prefix\":[\"users\"],"
                        "\"fields\":[{\"path\":\"/email\"}],\"unique\":true,"
                        "\"where\":{\"path\":\"/active\",\"eq\":true},"
                        "\"adopt\":true} parts adopts fits 10/10 0 0 0 0\n");
}

/* kvdex: documents under an id, unique indexes whose copies have the id as one
 * more member, and indexes that are not unique. */
TEST_WITH(layout_of_kvdex_is_found, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < USERS; n++) {
        const char *value =
            talloc_asprintf(s->mem, "\"name\":\"n%d\",\"age\":%d}", n, n % 5);
        set(s,
            talloc_asprintf(s->mem,
                            "[\"__kvdex__\",\"users\",\"__id__\",\"i%d\"]", n),
            talloc_asprintf(s->mem, "{%s", value));
        set(s,
            talloc_asprintf(s->mem,
                            "[\"__kvdex__\",\"users\",\"__index_primary__\","
                            "\"name\",\"n%d\"]",
                            n),
            talloc_asprintf(s->mem, "{\"__id__\":\"i%d\",%s", n, value));
        set(s,
            talloc_asprintf(s->mem,
                            "[\"__kvdex__\",\"users\",\"__index_secondary__\","
                            "\"age\",%d,\"i%d\"]",
                            n % 5, n),
            talloc_asprintf(s->mem, "{%s", value));
    }
    set(s, "[\"__kvdex__\",\"users\",\"__index_secondary__\",\"age\",3,\"i7\"]",
        "{\"name\":\"n7\",\"age\":3}");
    assert_string_equal(
        report(s),
        "{\"name\":\"__id___by_name\",\"prefix\":[\"__kvdex__\",\"users\","
        "\"__id__\"],\"fields\":[{\"path\":\"/name\"}],\"unique\":true,"
        "\"store\":\"value\"} copy 20/20 0 0 0 0\n"
        "{\"name\":\"__id___by_age\",\"prefix\":[\"__kvdex__\",\"users\","
        "\"__id__\"],\"fields\":[{\"path\":\"/age\"}],\"store\":\"value\"} "
        "copy fits 20/21 0 0 1 0\n");
}

/* kv-toolbox: a blob is chunks under numbers, and an entry about it. */
TEST_WITH(blobs_of_kv_toolbox_are_no_index, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < USERS; n++) {
        set(s,
            talloc_asprintf(s->mem,
                            "[\"files\",\"f%d\",\"__kv_toolbox_meta__\"]", n),
            talloc_asprintf(s->mem, "{\"kind\":\"buffer\",\"size\":%d}", n));
        for (int i = 1; i <= 3; i++)
            set(s,
                talloc_asprintf(
                    s->mem, "[\"files\",\"f%d\",\"__kv_toolbox_blob__\",%d]", n,
                    i),
                talloc_asprintf(s->mem, "\"chunk %d of %d\"", i, n));
    }
    assert_string_equal(report(s), "");
}

TEST_WITH(coincidences_are_not_proposed, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    FOR_USERS(s, "[\"items\",%d]", "{\"rank\":%d,\"one\":1,\"kind\":\"a\"}");
    for (int n = 0; n < USERS; n++) {
        void *mem = s->mem;
        const char *colour = COLOURS[n % 3];
        /* A constant of all items, before their keys. */
        set(s, talloc_asprintf(mem, "[\"flags\",1,%d]", n), "true");
        set(s, talloc_asprintf(mem, "[\"kinds\",\"a\",%d]", n), "null");
        /* Small integers. */
        set(s, talloc_asprintf(mem, "[\"scores\",%d]", n),
            talloc_asprintf(mem, "%d", (n * 7 + 3) % USERS));
        /* Data under the values of a field, which adoption would destroy. */
        set(s, talloc_asprintf(mem, "[\"passwords\",\"User%d@x.org\"]", n),
            talloc_asprintf(mem, "\"hash %d\"", n * 31));
        set(s, talloc_asprintf(mem, "[\"grades\",\"%s\",\"u%02d\"]", colour, n),
            talloc_asprintf(mem, "%d", 40 + n));
        set(s, talloc_asprintf(mem, "[\"profiles\",\"User%d@x.org\"]", n),
            talloc_asprintf(mem, "{\"id\":\"u%02d\",\"bio\":\"%d\"}", n, n));
        /* One entry for each user, under the same id. */
        set(s, talloc_asprintf(mem, "[\"settings\",\"u%02d\"]", n),
            talloc_asprintf(mem, "{\"id\":\"u%02d\"}", n));
        set(s, talloc_asprintf(mem, "[\"orders\",\"o%d\"]", n),
            talloc_asprintf(mem, "{\"id\":\"u%02d\",\"level\":%d}", n, n % 4));
        /* An enumeration that is equal in a third of all cases. */
        set(s,
            talloc_asprintf(mem, "[\"moods\",\"%s\",\"u%02d\"]",
                            COLOURS[n * 7 % 11 % 3], n),
            "true");
    }
    assert_string_equal(report(s), "");
}

TEST_WITH(entries_of_declared_indexes_are_left_out, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"users_by_email\",\"prefix\":[\"users\"],"
                     "\"fields\":[\"/email\"],\"store\":\"value\"}"),
        KX_OK);
    assert_string_equal(report(s), "");
}

/* Sets a value as Deno stores it. */
static void set_v8(struct story *s, const char *key, const char *json)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, s->mem);
    kx_v8_from_json(kx_text(json), &bytes);
    struct kx_mutation mutation = {
        .type = KX_SET,
        .key = test_key(s->mem, key),
        .value = {.encoding = KX_V8, .data = kx_buffer_slice(&bytes)}};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

TEST_WITH(values_that_deno_stored_are_compared, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < USERS; n++) {
        const char *value = user(s->mem, n);
        set_v8(s, talloc_asprintf(s->mem, "[\"users\",\"u%02d\"]", n), value);
        set_v8(
            s,
            talloc_asprintf(s->mem, "[\"users_by_email\",\"user%d@x.org\"]", n),
            talloc_asprintf(s->mem, "\"u%02d\"", n));
        set_v8(s,
               talloc_asprintf(s->mem,
                               "[\"users_by_favorite_color\",\"%s\",\"u%02d\"]",
                               COLOURS[n % 3], n),
               value);
    }
    set_v8(s, "[\"users_by_favorite_color\",\"red\",\"u02\"]", "{\"id\":1}");
    assert_string_equal(
        report(s), BY_EMAIL
        ",\"fold\":\"lower\"}],\"unique\":true,\"adopt\":true} parts adopts "
        "fits 20/20 0 0 0 0\n" BY_COLOUR
        ",\"store\":\"value\",\"adopt\":true} copy adopts fits "
        "19/20 0 0 1 0\n");
}

/* Only the value in the key tells the entry. */
TEST_WITH(copies_without_an_id_are_found, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < USERS; n++) {
        const char *value = talloc_asprintf(
            s->mem, "{\"isbn\":\"978-%d\",\"title\":\"T%d\"}", n, n);
        set(s, talloc_asprintf(s->mem, "[\"books\",\"b%d\"]", n), value);
        set(s, talloc_asprintf(s->mem, "[\"books_by_isbn\",\"978-%d\"]", n),
            value);
    }
    set(s, "[\"books\",\"b99\"]", "{\"isbn\":\"978-99\",\"title\":\"T\"}");
    assert_string_equal(
        report(s), "{\"name\":\"books_by_isbn\",\"prefix\":[\"books\"],"
                   "\"fields\":[{\"path\":\"/isbn\"}],\"unique\":true,"
                   "\"store\":\"value\",\"adopt\":true} copy adopts fits 20/20 "
                   "0 1 0 0\n");
}

TEST_WITH(keys_of_several_parts_and_casefold_are_found, begin, finish)
{
    struct story *s = *state;
    for (int n = 0; n < USERS; n++) {
        set(s, talloc_asprintf(s->mem, "[\"posts\",\"u%d\",%d]", n % 11, n),
            talloc_asprintf(s->mem, "{\"slug\":\"Stra\\u00dfe %d\"}", n));
        set(s, talloc_asprintf(s->mem, "[\"slugs\",\"strasse %d\"]", n),
            talloc_asprintf(s->mem, "[\"u%d\",%d]", n % 11, n));
    }
    set(s, "[\"posts\",\"u1\"]", "{\"slug\":\"no post\"}");
    assert_string_equal(
        report(s), "{\"name\":\"slugs\",\"prefix\":[\"posts\"],\"fields\":[{"
                   "\"path\":\"/slug\",\"fold\":\"casefold\"}],\"depth\":2,"
                   "\"unique\":true,\"adopt\":true} parts adopts fits 20/20 0 "
                   "0 0 0\n");
}

TEST_WITH(compound_indexes_are_found, begin, finish)
{
    struct story *s = *state;
    set_users(s);
    for (int n = 0; n < USERS; n++)
        set(s,
            talloc_asprintf(s->mem, "[\"by_both\",\"%s\",\"user%d@x.org\"]",
                            COLOURS[n % 3], n),
            talloc_asprintf(s->mem, "\"u%02d\"", n));
    assert_string_equal(
        report(s), "{\"name\":\"by_both\",\"prefix\":[\"users\"],\"fields\":[{"
                   "\"path\":\"/favoriteColor\"},{\"path\":\"/email\","
                   "\"fold\":\"lower\"}],\"unique\":true,\"adopt\":true} parts "
                   "adopts fits 20/20 0 0 0 0\n");
}

/* Far more prefixes with long keys than KX_DISCOVER_MEMORY has room for.
 * Samples get smaller, and the indexes are found nevertheless. */
TEST_WITH(many_prefixes_with_long_keys_stay_within_the_memory, begin, finish)
{
    enum { PREFIXES = 60, KEYS = 128, SLACK = 1 << 19 };
    struct story *s = *state;
    struct kx_discovery *discovery = NULL;
    enum kx_status status = KX_OK;
    uint64_t surveyed = 0;
    unsigned steps = 0;
    char text[196];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < PREFIXES * KEYS; i++) {
        char *key = talloc_asprintf(s->mem, "[\"p%d\",1,2,3,4,5,\"%s%d\"]",
                                    i / KEYS, text, i % KEYS);
        set(s, key, "0");
        talloc_free(key);
    }
    set_users(s);
    FOR_USERS(s, "[\"users_by_email\",\"user%d@x.org\"]", "\"u%02d\"");
    assert_int_equal(kx_discover_begin(s->mem, kx_slice(NULL, 0), &discovery),
                     KX_OK);
    while (status == KX_OK) {
        kx_read_begin(s->test.reader);
        status = kx_discover_next(discovery, s->test.reader, 500);
        kx_read_end(s->test.reader);
        if (steps++ % 64 == 0 || kx_discover_surveyed(discovery) > surveyed)
            assert_in_range(talloc_total_size(discovery), 0,
                            KX_DISCOVER_MEMORY + SLACK);
        surveyed = kx_discover_surveyed(discovery);
    }
    assert_int_equal(status, KX_END);
    const struct kx_hand_index *found = kx_discover_found(discovery, 0);
    assert_non_null(found);
    assert_int_equal(found->agree, USERS);
    assert_null(kx_discover_found(discovery, 1));
}
