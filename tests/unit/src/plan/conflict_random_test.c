/* Unique indexes over random data with duplicates, resolved at random. After
 * every commit, expiry and restart the groups of conflicts are those that the
 * data has, the index is ready exactly when it has no conflicts, and a commit
 * is refused exactly when it makes a new one. KX_TEST_SEED=n replays a run.
 */
#include "store.h"
#include "commit/store_state.h"

enum { OWNERS = 24, VALUES = 12, ROUNDS = 60, COMMITS = 60, LARGE = 20000 };

static const char *const names[] = {"pointers", "copies"};

/* The data as they must be; value -1: no entry, or none that is indexed. */
struct model {
    int value[OWNERS];
    int64_t expires_at_ms[OWNERS];
};

struct world {
    struct test_store test;
    void *mem;
    uint64_t seed;
    int64_t now;
    struct model model;
    struct kx_slice keys[OWNERS];
    struct kx_slice values[VALUES];
};

/* Which owners have each value, a bit for each. */
struct groups {
    uint32_t owners[VALUES];
};

static bool has(const struct world *world, const struct model *model, int owner,
                int value)
{
    return value >= 0 && model->value[owner] == value &&
           (model->expires_at_ms[owner] == 0 ||
            model->expires_at_ms[owner] > world->now);
}

static struct groups expected(const struct world *world)
{
    struct groups groups = {{0}};
    for (int v = 0; v < VALUES; v++) {
        for (int n = 0; n < OWNERS; n++)
            if (has(world, &world->model, n, v))
                groups.owners[v] |= UINT32_C(1) << n;
        if (__builtin_popcount(groups.owners[v]) < 2)
            groups.owners[v] = 0;
    }
    return groups;
}

static size_t find(const struct kx_slice *list, size_t count,
                   struct kx_slice slice)
{
    for (size_t i = 0; i < count; i++)
        if (kx_equal(list[i], slice))
            return i;
    fail_msg("a key or value that was never written");
    return 0;
}

/* Reads the list in pages that end at random places. */
static struct groups listed(struct world *world, const char *name)
{
    struct groups groups = {{0}};
    struct kx_conflict conflict;
    struct kx_reader *reader = world->test.reader;
    struct kx_buffer after;
    size_t last = VALUES;
    kx_buffer_init(&after, world->mem);
    kx_read_begin(reader);
    enum kx_status status =
        kx_conflicts(reader, kx_text(name), kx_slice(NULL, 0), NULL);
    while (status == KX_OK &&
           (status = kx_conflict_next(reader, &conflict)) == KX_OK) {
        size_t v = find(world->values, VALUES, conflict.value);
        assert_int_equal(conflict.first, v != last);
        assert_true(last == VALUES || v >= last);
        last = v;
        uint32_t bit = UINT32_C(1) << find(world->keys, OWNERS, conflict.key);
        assert_int_equal(groups.owners[v] & bit, 0);
        groups.owners[v] |= bit;
        if (conflict.first || random_below(&world->seed, 3) != 0)
            continue;
        after.size = 0;
        kx_add_slice(&after, kx_conflict_position(reader));
        status =
            kx_conflicts(reader, kx_text(name), kx_buffer_slice(&after), NULL);
    }
    kx_read_end(reader);
    assert_int_equal(status, KX_END);
    return groups;
}

/* The index entries as a rebuild would make them; only when it is ready. */
static const char *rebuilt(struct world *world, bool copies)
{
    char *out = talloc_strdup(world->mem, "");
    for (int v = 0; v < VALUES; v++)
        for (int n = 0; n < OWNERS; n++) {
            char *key = talloc_asprintf(world->mem, "[\"p\",%d]", n);
            if (!has(world, &world->model, n, v))
                continue;
            const char *value = test_get(&world->test, world->mem, key);
            char *pointer = talloc_asprintf(world->mem, "[%d]", n);
            out = talloc_asprintf_append(out, "[\"%s\",\"v%02d\"] %s|",
                                         names[copies], v,
                                         copies ? value : pointer);
        }
    return out;
}

static bool same(const struct groups *a, const struct groups *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The state follows an expiry when the writer comes to it. Before it takes a
 * commit, be it an empty one, it has done a job after the one before: that many
 * have seen to everything that is due. */
static enum kx_index_state settled_state(struct world *world, const char *name,
                                         enum kx_index_state wanted)
{
    struct kx_index_info info = {.entries = 0};
    assert_int_equal(test_index(&world->test, name, &info), KX_OK);
    for (int i = 0; i < 2 * OWNERS && info.state != wanted; i++) {
        struct kx_commit commit = {.memory = world->mem};
        test_commit(&world->test, &commit);
        assert_int_equal(test_index(&world->test, name, &info), KX_OK);
    }
    return info.state;
}

static void compare(struct world *world)
{
    struct groups want = expected(world);
    struct groups none = {{0}};
    enum kx_index_state state =
        same(&want, &none) ? KX_INDEX_READY : KX_INDEX_CONFLICTED;
    for (int i = 0; i < 2; i++) {
        struct groups have = listed(world, names[i]);
        if (!same(&have, &want))
            fail_msg("the groups of %s are not those of the data", names[i]);
        assert_int_equal(settled_state(world, names[i], state), state);
        char *prefix = talloc_asprintf(world->mem, "[\"%s\"]", names[i]);
        if (state == KX_INDEX_READY)
            assert_string_equal(test_list(&world->test, world->mem, prefix),
                                rebuilt(world, i == 1));
    }
}

/* ---- Commits ------------------------------------------------------------ */

static struct kx_mutation random_mutation(struct world *world,
                                          struct model *model)
{
    size_t n = random_below(&world->seed, OWNERS);
    struct kx_mutation mutation = {.type = KX_DELETE, .key = world->keys[n]};
    model->value[n] = -1;
    model->expires_at_ms[n] = 0;
    if (random_below(&world->seed, 3) == 0)
        return mutation;
    bool stays = random_below(&world->seed, 3) == 0;
    int v = stays ? world->model.value[n]
                  : (int)random_below(&world->seed, VALUES + 2);
    mutation.type = KX_SET;
    mutation.value = test_json(
        v < 0 || v >= VALUES
            ? "{}"
            : talloc_asprintf(world->mem, "{\"v\":\"v%02d\",\"r\":%zu}", v,
                              random_below(&world->seed, 1000)));
    model->value[n] = v < VALUES ? v : -1;
    if (random_below(&world->seed, 4) == 0)
        mutation.expires_at_ms = model->expires_at_ms[n] =
            world->now + 1 + (int64_t)random_below(&world->seed, 40);
    return mutation;
}

/* Does an entry get a value that another one has? */
static bool violates(const struct world *world, const struct model *after)
{
    for (int n = 0; n < OWNERS; n++) {
        int v = after->value[n];
        if (!has(world, after, n, v) || has(world, &world->model, n, v))
            continue;
        for (int other = 0; other < OWNERS; other++)
            if (other != n && has(world, after, other, v))
                return true;
    }
    return false;
}

/* Some mutations in one commit; `checked`: the outcome is foreseen. */
static void change(struct world *world, bool checked)
{
    struct kx_mutation mutations[4];
    struct model after = world->model;
    size_t count = 1 + random_below(&world->seed, 4);
    for (size_t i = 0; i < count; i++)
        mutations[i] = random_mutation(world, &after);
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = world->mem};
    bool refused = violates(world, &after);
    world->test.store->writer.pessimistic =
        0; /* values are assumed to be new each time */
    enum kx_status status = test_commit(&world->test, &commit);
    if (checked)
        assert_int_equal(status, refused ? KX_UNIQUE_VIOLATION : KX_OK);
    if (status == KX_OK)
        world->model = after;
}

/* Removes the first live entries in one commit. */
static void remove_first(struct world *world)
{
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(world->mem, "[\"p\",0]"),
                                   .end = test_key(world->mem, "[\"p\",999]"),
                                   .limit = 1 + random_below(&world->seed, 3)};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = world->mem};
    char key[32];
    assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    for (int n = 0; n < OWNERS; n++) {
        snprintf(key, sizeof key, "[\"p\",%d]", n);
        if (test_get(&world->test, world->mem, key) == NULL)
            world->model.value[n] = -1;
    }
}

static void step(struct world *world)
{
    talloc_free_children(world->mem);
    kx_clock_set(world->now += (int64_t)random_below(&world->seed, 6));
    switch (random_below(&world->seed, 50)) {
    case 0:
    case 1:
    case 2:
    case 3:
        remove_first(world);
        return;
    case 4:
        test_store_close(&world->test);
        test_store_open(&world->test);
        return;
    default:
        change(world, true);
    }
}

/* ---- Rounds ------------------------------------------------------------- */

static void fill(struct world *world)
{
    for (int n = 0; n < OWNERS; n++) {
        int v = (int)random_below(&world->seed, VALUES);
        struct kx_mutation mutation = {.type = KX_SET, .key = world->keys[n]};
        mutation.value = test_json(
            talloc_asprintf(world->mem, "{\"v\":\"v%02d\",\"r\":0}", v));
        if (random_below(&world->seed, 5) == 0)
            mutation.expires_at_ms =
                world->now + 1 + (int64_t)random_below(&world->seed, 100);
        struct kx_commit commit = {
            .mutations = &mutation, .mutation_count = 1, .memory = world->mem};
        assert_int_equal(test_commit(&world->test, &commit), KX_OK);
        world->model.value[n] = v;
        world->model.expires_at_ms[n] = mutation.expires_at_ms;
    }
}

static void declare_both(struct world *world)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            test_declare(&world->test, world->mem,
                         talloc_asprintf(world->mem,
                                         "{\"name\":\"%s\",\"prefix\":[\"p\"],"
                                         "\"fields\":[\"/v\"],\"unique\":true,"
                                         "\"store\":\"%s\"}",
                                         names[i], i ? "value" : "pointer")),
            KX_OK);
}

static void drop_both(struct world *world)
{
    for (int i = 0; i < 2; i++) {
        struct kx_commit commit = {.command.kind = KX_DROP_INDEX,
                                   .command.index_name = kx_text(names[i]),
                                   .memory = world->mem};
        assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    }
}

static void wait_built(struct world *world)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    for (int i = 0; i < 2; i++)
        while (test_index(&world->test, names[i], &info) == KX_OK &&
               info.state == KX_INDEX_BUILDING)
            usleep(500);
}

static struct world *open_world(const char *test)
{
    struct world *world = talloc_zero(NULL, struct world);
    world->seed = random_seed(test);
    world->now = 1000000;
    kx_clock_set(world->now);
    world->mem = talloc_new(world);
    test_store_new(&world->test);
    for (int n = 0; n < OWNERS; n++)
        world->keys[n] =
            test_key(world, talloc_asprintf(world, "[\"p\",%d]", n));
    for (int v = 0; v < VALUES; v++)
        world->values[v] =
            test_key(world, talloc_asprintf(world, "[\"v%02d\"]", v));
    return world;
}

static void close_world(struct world *world)
{
    kx_clock_set(0);
    test_store_remove(&world->test);
    talloc_free(world);
}

TEST(aggregate_groups_match_the_entries)
{
    struct world *world = open_world("conflict_random_test");
    for (int round = 0; round < ROUNDS; round++) {
        talloc_free_children(world->mem);
        fill(world);
        declare_both(world);
        if (random_below(&world->seed, 2) == 0)
            change(world, false);
        wait_built(world);
        compare(world);
        for (int i = 0; i < COMMITS; i++) {
            step(world);
            compare(world);
        }
        drop_both(world);
    }
    close_world(world);
}

/* Twenty thousand entries in pairs of one value, some of them written while the
 * index is built: without a change of the value, with a new one, and deleted.
 */
TEST(writes_during_an_aggregate_build_keep_totals_right)
{
    struct world *world = open_world("conflict_random_test");
    struct kx_index_info info;
    char key[32];
    char value[64];
    for (int n = 0; n < LARGE; n += 1000) {
        struct kx_mutation *mutations =
            talloc_zero_array(world->mem, struct kx_mutation, 1000);
        for (int i = 0; i < 1000; i++) {
            snprintf(key, sizeof key, "[\"p\",%d]", n + i);
            mutations[i] = (struct kx_mutation){
                .type = KX_SET,
                .key = test_key(world->mem, key),
                .value = test_json(
                    talloc_asprintf(world->mem, "{\"v\":%d}", (n + i) / 2))};
        }
        struct kx_commit commit = {.mutations = mutations,
                                   .mutation_count = 1000,
                                   .memory = world->mem};
        assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    }
    declare_both(world);
    size_t gone = 0;
    size_t written = 0;
    for (int n = 0; n + 3 < LARGE && written < 2000; n += 66, written++) {
        snprintf(key, sizeof key, "[\"p\",%d]", n);
        snprintf(value, sizeof value, "{\"v\":%d,\"again\":true}", n / 2);
        assert_int_equal(test_set(&world->test, world->mem, key, value), KX_OK);
        snprintf(key, sizeof key, "[\"p\",%d]", n + 2);
        snprintf(value, sizeof value, "{\"v\":\"new%d\"}", n);
        assert_int_equal(test_set(&world->test, world->mem, key, value), KX_OK);
        gone++;
        if (n % 4 != 0)
            continue;
        snprintf(key, sizeof key, "[\"p\",%d]", n + 1);
        assert_int_equal(test_delete(&world->test, world->mem, key), KX_OK);
        gone++;
    }
    wait_built(world);
    for (int i = 0; i < 2; i++) {
        size_t count = 0;
        struct kx_conflict conflict;
        assert_int_equal(test_index(&world->test, names[i], &info), KX_OK);
        assert_int_equal(info.state, KX_INDEX_CONFLICTED);
        assert_int_equal(info.conflicts, LARGE / 2 - gone);
        kx_read_begin(world->test.reader);
        kx_conflicts(world->test.reader, kx_text(names[i]), kx_slice(NULL, 0),
                     NULL);
        while (kx_conflict_next(world->test.reader, &conflict) == KX_OK)
            count += conflict.first;
        kx_read_end(world->test.reader);
        assert_int_equal(count, LARGE / 2 - gone);
    }
    close_world(world);
}

/* The comparison itself: it must see one owner too few, one too many, and a
 * violation that is let pass. */
TEST(comparison_of_groups_finds_planted_differences)
{
    struct world *world = open_world("conflict_random_test");
    fill(world);
    declare_both(world);
    wait_built(world);
    struct groups have = listed(world, names[0]);
    for (int n = 0; n < OWNERS; n++) {
        struct model model = world->model;
        struct groups want = expected(world);
        assert_true(same(&have, &want));
        uint32_t alone = want.owners[model.value[n]];
        world->model.value[n] = -1;
        want = expected(world);
        assert_int_equal(same(&have, &want), alone == 0);
        world->model = model;
    }
    struct model after = world->model;
    after.value[0] = after.value[1];
    after.expires_at_ms[0] = after.expires_at_ms[1] = 0;
    world->model.value[0] = -1;
    assert_true(violates(world, &after));
    close_world(world);
}
