/* An index that migrates all the time, from any form to any other, while
 * entries are written and expire and the store is opened again. In every view
 * its entries are those that a rebuild gives in the form that the index shows,
 * and each leads to a stored entry. KX_TEST_SEED=n replays a run. */
#include <jansson.h>

#include "store.h"
#include "commit/store_state.h"

enum { STEPS = 2500, OWNERS = 700, ROWS_PER_SECOND = 2500 };

/* An entry in the model. */
struct owning_entry {
    char *value; /* NULL: none */
    int64_t expires_at_ms;
    uint64_t stamp;
    /* Its index entry when it was last looked at. */
    char *shown; /* key and value as text, NULL: none */
    uint64_t shown_stamp;
    int64_t shown_expires_at_ms;
};

struct world {
    struct test_store test;
    void *mem; /* of one step */
    uint64_t seed;
    int64_t now;
    struct owning_entry owners[OWNERS];
    bool unique;
    char store[16];
    size_t fields;  /* number of the list of fields */
    bool where;     /* only entries with z = 1 */
    unsigned since; /* number of the declaration seen last */
    unsigned declarations;
    unsigned migrating;
};

static const char *const stores[] = {"\"pointer\"", "\"value\"",
                                     "{\"fields\":[\"/u\",\"/n\"]}"};

static const char *const fields[] = {"[\"/u\"]", "[\"/n\",\"/u\"]",
                                     "[\"/u\",\"/z\"]"};

static bool alive(const struct world *world, const struct owning_entry *owner)
{
    return owner->value != NULL &&
           (owner->expires_at_ms == 0 || owner->expires_at_ms > world->now);
}

/* Slows migrations down to so many rows in each second of the test's clock. */
static void set_pace(struct world *world)
{
    struct kx_commit commit = {
        .command.kind = KX_PACE_INDEX,
        .command.index_name = kx_text("i"),
        .command.pace = {.sets_limit = true, .per_second = ROWS_PER_SECOND},
        .memory = world->mem};
    assert_int_equal(test_commit(&world->test, &commit), KX_OK);
}

static void write_random(struct world *world)
{
    size_t n = random_below(&world->seed, OWNERS);
    struct owning_entry *owner = &world->owners[n];
    char *key = talloc_asprintf(world->mem, "[\"p\",%zu]", n);
    struct kx_mutation mutation = {.type = KX_DELETE,
                                   .key = test_key(world->mem, key)};
    talloc_free(owner->value);
    owner->value = NULL;
    owner->expires_at_ms = 0;
    if (random_below(&world->seed, 5) != 0) {
        /* Few values, and another one of this owner's in each third. */
        owner->value = talloc_asprintf(
            NULL, "{\"u\":\"%zu-%zu\",\"n\":%zu,\"z\":%zu}", n % 350 * 2 + n,
            random_below(&world->seed, 3), random_below(&world->seed, 2),
            random_below(&world->seed, 2));
        mutation.type = KX_SET;
        mutation.value = test_json(owner->value);
        if (random_below(&world->seed, 8) == 0)
            owner->expires_at_ms = mutation.expires_at_ms =
                world->now + 1 + (int64_t)random_below(&world->seed, 3000);
    }
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = world->mem};
    assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    owner->stamp = commit.stamp;
}

/* Any part of the declaration may change: with some, keys of both forms are
 * equal, with others they are not. */
static void migrate(struct world *world)
{
    char *patch =
        talloc_asprintf(world->mem, "{\"unique\":%s,\"store\":%s",
                        random_below(&world->seed, 2) == 0 ? "true" : "null",
                        stores[random_below(&world->seed, 3)]);
    if (random_below(&world->seed, 2) == 0)
        patch = talloc_asprintf_append(patch, ",\"fields\":%s",
                                       fields[random_below(&world->seed, 3)]);
    if (random_below(&world->seed, 2) == 0)
        patch = talloc_asprintf_append(patch, ",\"where\":%s",
                                       random_below(&world->seed, 2) == 0
                                           ? "{\"path\":\"/z\",\"eq\":1}"
                                           : "null");
    patch = talloc_asprintf_append(patch, "}");
    struct kx_commit commit = {.command.kind = KX_MIGRATE_INDEX,
                               .command.index_name = kx_text("i"),
                               .command.declaration = kx_text(patch),
                               .memory = world->mem};
    if (random_below(&world->seed, 4) == 0)
        commit.command.kind = KX_UNDO_MIGRATION;
    enum kx_status status = test_commit(&world->test, &commit);
    assert_true(status == KX_OK || status == KX_INDEX_BUSY ||
                status == KX_NO_MIGRATION);
}

static size_t number_of_fields(const json_t *declaration)
{
    const json_t *list = json_object_get(declaration, "fields");
    const char *first =
        json_string_value(json_object_get(json_array_get(list, 0), "path"));
    if (json_array_size(list) == 1)
        return 0;
    return strcmp(first, "/n") == 0 ? 1 : 2;
}

/* Reads which form the index has. */
static void read_form(struct world *world)
{
    struct kx_index_info info;
    char store[16];
    assert_int_equal(kx_index_find(world->test.reader, kx_text("i"), &info),
                     KX_OK);
    json_t *declaration = json_loadb((const char *)info.declaration.data,
                                     info.declaration.size, 0, NULL);
    const json_t *text = json_object_get(declaration, "store");
    snprintf(store, sizeof store, "%s",
             json_is_string(text) ? json_string_value(text) : "fields");
    bool unique = json_is_true(json_object_get(declaration, "unique"));
    bool where = json_object_get(declaration, "where") != NULL;
    size_t list = number_of_fields(declaration);
    json_decref(declaration);
    if (unique != world->unique || strcmp(store, world->store) != 0 ||
        where != world->where || list != world->fields)
        world->declarations++;
    world->where = where;
    world->fields = list;
    world->unique = unique;
    memcpy(world->store, store, sizeof store);
    world->migrating += info.state == KX_INDEX_MIGRATING;
}

/* Should the index have an entry for it? */
static bool is_covered(const struct world *world, size_t n)
{
    const struct owning_entry *owner = &world->owners[n];
    return alive(world, owner) &&
           (!world->where || strstr(owner->value, "\"z\":1") != NULL);
}

/* "key value" of the owner's index entry. */
static char *expected(const struct world *world, size_t n)
{
    const char *value = world->owners[n].value;
    const char *u = strchr(value, ':') + 1;
    int size = (int)(strchr(u, ',') - u);
    char number_n = value[strcspn(value, "n") + 3];
    char number_z = value[strcspn(value, "z") + 3];
    char *text = talloc_strdup(world->mem, "[\"i\"");
    if (world->fields == 1)
        text = talloc_asprintf_append(text, ",%c", number_n);
    text = talloc_asprintf_append(text, ",%.*s", size, u);
    if (world->fields == 2)
        text = talloc_asprintf_append(text, ",%c", number_z);
    if (!world->unique)
        text = talloc_asprintf_append(text, ",%zu", n);
    if (strcmp(world->store, "pointer") == 0)
        return talloc_asprintf_append(text, "] [%zu]", n);
    if (strcmp(world->store, "value") == 0)
        return talloc_asprintf_append(text, "] %s", value);
    return talloc_asprintf_append(text, "] {\"u\":%.*s,\"n\":%c}", size, u,
                                  number_n);
}

static size_t owner_of(const char *text)
{
    const char *u = strchr(text + sizeof "[\"i\"" - 1, '"') + 1;
    size_t number = strtoull(u, NULL, 10);
    for (size_t n = 0; n < OWNERS; n++)
        if (n % 350 * 2 + n == number)
            return n;
    fail_msg("a value that was never written: %s", text);
    return 0;
}

/* Another content has a higher stamp; the same pointer, in the same form and
 * with the same expiry, the same one. */
static void compare_stamp(struct world *world, size_t n, const char *text,
                          uint64_t stamp)
{
    struct owning_entry *owner = &world->owners[n];
    bool same = owner->shown != NULL && strcmp(owner->shown, text) == 0;
    if (owner->shown != NULL && !same)
        assert_true(stamp > owner->shown_stamp);
    if (same && strcmp(world->store, "pointer") == 0 &&
        world->since == world->declarations &&
        owner->shown_expires_at_ms == owner->expires_at_ms)
        assert_int_equal(stamp, owner->shown_stamp);
    talloc_free(owner->shown);
    owner->shown = talloc_strdup(NULL, text);
    owner->shown_stamp = stamp;
    owner->shown_expires_at_ms = owner->expires_at_ms;
}

/* Every entry under the name is one that is expected; returns how many. */
static size_t compare_rows(struct world *world)
{
    size_t count = 0;
    struct kx_entry entry;
    struct kx_buffer text;
    struct kx_range range = {.start = test_key(world->mem, "[\"i\"]"),
                             .end = test_key(world->mem, "[\"i\\u0001\"]")};
    assert_int_equal(kx_scan(world->test.reader, &range, NULL), KX_OK);
    kx_buffer_init(&text, world->mem);
    while (kx_scan_next(world->test.reader, &entry) == KX_OK) {
        text.size = 0;
        test_show(&entry, &text);
        text.data[text.size - 1] = '\0';
        size_t n = owner_of((const char *)text.data);
        assert_true(is_covered(world, n));
        assert_string_equal((const char *)text.data, expected(world, n));
        compare_stamp(world, n, (const char *)text.data, entry.stamp);
        count++;
    }
    return count;
}

/* Every entry that the index leads to is as it is stored; returns how many. */
static size_t compare_entries(struct world *world)
{
    size_t count = 0;
    struct kx_entry entry;
    struct kx_range range = {.reverse = random_below(&world->seed, 2) == 0};
    assert_int_equal(
        kx_scan_index(world->test.reader, kx_text("i"), &range, NULL), KX_OK);
    while (kx_scan_next(world->test.reader, &entry) == KX_OK) {
        struct kx_key_reader reader;
        struct kx_part part;
        kx_key_read(&reader, entry.key);
        kx_key_next(&reader, &part);
        assert_int_equal(kx_key_next(&reader, &part), KX_OK);
        const struct owning_entry *owner = &world->owners[(size_t)part.number];
        assert_true(alive(world, owner));
        assert_true(kx_equal(entry.value.data, kx_text(owner->value)));
        assert_int_equal(entry.stamp, owner->stamp);
        count++;
    }
    return count;
}

/* Compares everything in one view, because a migration may end between two
 * views. */
static void compare(struct world *world)
{
    size_t count = 0;
    kx_read_begin(world->test.reader);
    world->since = world->declarations;
    read_form(world);
    for (size_t n = 0; n < OWNERS; n++)
        count += is_covered(world, n);
    assert_int_equal(compare_rows(world), count);
    assert_int_equal(compare_entries(world), count);
    kx_read_end(world->test.reader);
    for (size_t n = 0; n < OWNERS; n++)
        if (!is_covered(world, n))
            TALLOC_FREE(world->owners[n].shown);
}

static void step(struct world *world)
{
    talloc_free_children(world->mem);
    kx_clock_set(world->now += (int64_t)random_below(&world->seed, 60));
    switch (random_below(&world->seed, 12)) {
    case 0:
        migrate(world);
        break;
    case 1:
        if (random_below(&world->seed, 10) == 0) {
            test_store_close(&world->test);
            test_store_open(&world->test);
        }
        break;
    default:
        write_random(world);
    }
    compare(world);
}

TEST(index_is_correct_during_random_migrations)
{
    struct world *world = talloc_zero(NULL, struct world);
    world->seed = random_seed("migrate_random_test");
    world->mem = talloc_new(world);
    world->now = 1000000;
    kx_clock_set(world->now);
    test_store_new(&world->test);
    for (int i = 0; i < OWNERS; i++)
        write_random(world);
    test_declare(&world->test, world->mem,
                 "{\"name\":\"i\",\"prefix\":[\"p\"],\"fields\":[\"/u\"]}");
    for (bool ready = false; !ready; usleep(1000)) {
        struct kx_index_info info;
        kx_read_begin(world->test.reader);
        kx_index_find(world->test.reader, kx_text("i"), &info);
        ready = info.state == KX_INDEX_READY;
        kx_read_end(world->test.reader);
    }
    set_pace(world);
    for (int i = 0; i < STEPS; i++)
        step(world);
    assert_true(world->declarations > 10);
    assert_true(world->migrating > STEPS / 40);
    for (size_t n = 0; n < OWNERS; n++) {
        talloc_free(world->owners[n].value);
        talloc_free(world->owners[n].shown);
    }
    kx_clock_set(0);
    test_store_remove(&world->test);
    talloc_free(world);
}
