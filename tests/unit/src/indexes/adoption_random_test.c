/* Hand-kept index entries, right and wrong at random, are adopted: what is left
 * is what the entries make, what was right keeps its versionstamp, and all is
 * counted as it was planted; also with commits and restarts on the way, and as
 * the dry run has foretold. KX_TEST_SEED=n replays a run.
 */
#include "store.h"

enum { OWNERS = 40, SHAPES = 4, ROUNDS = 60, LIVE = 12, HANDS_MAX = 64 };

struct index_kind {
    const char *name;
    bool unique;
    bool copy;
};

static const struct index_kind shapes[SHAPES] = {{"pu", true, false},
                                                 {"pn", false, false},
                                                 {"cu", true, true},
                                                 {"cn", false, true}};

/* A planted entry: its key, its stamp, and whose it should be. */
struct hand {
    char key[48];
    uint64_t stamp;
    int owner; /* -1: no owner */
    bool right;
};

struct world {
    struct test_store test;
    void *mem;
    uint64_t seed;
    int version[OWNERS]; /* of the value, -1: no entry */
    bool touched[OWNERS];
    bool moved[OWNERS]; /* has got other index keys */
    struct hand hands[SHAPES][HANDS_MAX];
    size_t hand_count[SHAPES];
    uint64_t planted[SHAPES][KX_ADOPTED_KINDS];
};

/* Owner n has the unique field "u<n>.<version>" and one of three colours. */
static const char *value_of(struct world *world, int n)
{
    return talloc_asprintf(world->mem, "{\"u\":\"u%d.%d\",\"c\":%d}", n,
                           world->version[n], (n + world->version[n]) % 3);
}

static void index_key(struct world *world, int shape, int n, char *out)
{
    if (shapes[shape].unique)
        snprintf(out, 48, "[\"%s\",\"u%d.%d\"]", shapes[shape].name, n,
                 world->version[n]);
    else
        snprintf(out, 48, "[\"%s\",%d,%d]", shapes[shape].name,
                 (n + world->version[n]) % 3, n);
}

static const char *held_by(struct world *world, int shape, int n)
{
    return shapes[shape].copy ? value_of(world, n)
                              : talloc_asprintf(world->mem, "%d", n);
}

static void put(struct world *world, const char *key, const char *value)
{
    assert_int_equal(test_set(&world->test, world->mem, key, value), KX_OK);
}

static uint64_t stamp_of(struct world *world, const char *key)
{
    return test_stamp(&world->test, world->mem, key);
}

/* ---- Planting ----------------------------------------------------------- */

static void plant(struct world *world, int shape, int n)
{
    struct hand *hand = &world->hands[shape][world->hand_count[shape]];
    uint64_t *planted = world->planted[shape];
    size_t luck = random_below(&world->seed, 10);
    if (luck == 0) {
        planted[KX_ADDED]++;
        return;
    }
    world->hand_count[shape]++;
    *hand = (struct hand){.owner = n, .right = luck > 1};
    planted[hand->right ? KX_KEPT : KX_REPLACED]++;
    index_key(world, shape, n, hand->key);
    put(world, hand->key,
        hand->right ? held_by(world, shape, n) : "{\"wrong\":[1]}");
    hand->stamp = stamp_of(world, hand->key);
}

static void plant_dangling(struct world *world, int shape, int n)
{
    struct hand *hand = &world->hands[shape][world->hand_count[shape]++];
    *hand = (struct hand){.owner = -1};
    snprintf(hand->key, sizeof hand->key, "[\"%s\",\"gone\",%d]",
             shapes[shape].name, n);
    put(world, hand->key, "7");
    world->planted[shape][KX_REMOVED]++;
}

static void plant_all(struct world *world)
{
    memset(world->hands, 0, sizeof world->hands);
    memset(world->hand_count, 0, sizeof world->hand_count);
    memset(world->planted, 0, sizeof world->planted);
    for (int n = 0; n < OWNERS; n++) {
        char key[32];
        snprintf(key, sizeof key, "[\"p\",%d]", n);
        world->version[n] = (int)random_below(&world->seed, 1000);
        world->touched[n] = world->moved[n] = false;
        put(world, key, value_of(world, n));
        for (int shape = 0; shape < SHAPES; shape++)
            plant(world, shape, n);
    }
    for (int shape = 0; shape < SHAPES; shape++)
        for (int n = (int)random_below(&world->seed, 5); n > 0; n--)
            plant_dangling(world, shape, n);
}

/* ---- Adopting ----------------------------------------------------------- */

static const char *declaration_of(struct world *world, int shape)
{
    return talloc_asprintf(
        world->mem,
        "{\"name\":\"%s\",\"prefix\":[\"p\"],\"fields\":[\"/%s\"],"
        "\"unique\":%s,\"store\":\"%s\",\"adopt\":true}",
        shapes[shape].name, shapes[shape].unique ? "u" : "c",
        shapes[shape].unique ? "true" : "false",
        shapes[shape].copy ? "value" : "pointer");
}

static void check_dry_run(struct world *world, int shape)
{
    struct kx_dry_run *dry_run = NULL;
    enum kx_status status = kx_dry_run_begin(
        world->mem, kx_text(declaration_of(world, shape)), &dry_run, NULL);
    while (status == KX_OK) {
        kx_read_begin(world->test.reader);
        status = kx_dry_run_next(dry_run, world->test.reader,
                                 1 + random_below(&world->seed, 9));
        kx_read_end(world->test.reader);
    }
    assert_int_equal(status, KX_END);
    const struct kx_adoption *result = kx_dry_run_result(dry_run);
    assert_true(result->done);
    assert_memory_equal(result->counts, world->planted[shape],
                        sizeof result->counts);
}

/* May a program say that it deletes the entry's index entry? Only if what is
 * there is right. */
static bool is_right(const struct world *world, int shape, int n)
{
    for (size_t i = 0; i < world->hand_count[shape]; i++)
        if (world->hands[shape][i].owner == n)
            return world->hands[shape][i].right || world->touched[n];
    return true;
}

/* A commit of a burst. */
struct work {
    struct kx_mutation mutations[3];
    struct kx_commit commit;
    bool done;
};

static struct kx_mutation mutation_of(struct world *world, const char *key,
                                      const char *value)
{
    struct kx_mutation mutation = {.type = KX_DELETE,
                                   .key = test_key(world->mem, key)};
    if (value == NULL)
        return mutation;
    mutation.type = KX_SET;
    mutation.value = test_json(value);
    return mutation;
}

/* A change of an entry, alone or as a program writes it that keeps its indexes
 * by hand. */
static void make_change(struct world *world, struct work *work)
{
    int n = (int)random_below(&world->seed, OWNERS);
    int before = world->version[n];
    size_t count = 1;
    char key[48];
    if (before >= 0 && is_right(world, 0, n) &&
        random_below(&world->seed, 2) == 0) {
        index_key(world, 0, n, key);
        work->mutations[count++] = mutation_of(world, key, NULL);
    }
    bool stays = random_below(&world->seed, 3) != 0;
    bool moves = count > 1 || before < 0 || random_below(&world->seed, 3) != 0;
    world->moved[n] |= moves || !stays;
    if (!stays)
        world->version[n] = -1;
    else if (moves)
        world->version[n] = (int)random_below(&world->seed, 1000) + 1000;
    if (stays && random_below(&world->seed, 2) == 0) {
        index_key(world, 2, n, key);
        work->mutations[count++] = mutation_of(world, key, value_of(world, n));
    }
    snprintf(key, sizeof key, "[\"p\",%d]", n);
    work->mutations[0] =
        mutation_of(world, key, stays ? value_of(world, n) : NULL);
    world->touched[n] = true;
    work->commit = (struct kx_commit){.mutations = work->mutations,
                                      .mutation_count = count};
}

/* Declarations and changes come to the writer as one list, so that most changes
 * are made before anything is taken over. */
static void burst(struct world *world, bool live)
{
    struct work *works =
        talloc_zero_array(world->mem, struct work, SHAPES + LIVE);
    int count = live ? SHAPES + LIVE : SHAPES;
    for (int i = 0; i < count; i++) {
        if (i < SHAPES)
            works[i].commit = (struct kx_commit){
                .command.kind = KX_DECLARE_INDEX,
                .command.declaration = kx_text(declaration_of(world, i))};
        else
            make_change(world, &works[i]);
        works[i].commit.memory = talloc_new(world->mem);
        works[i].commit.ticket.owner = &works[i].done;
    }
    for (int i = 0; i < count; i++)
        assert_int_equal(kx_submit(world->test.store, &works[i].commit), KX_OK);
    for (int i = 0; i < count; i++) {
        test_wait(&world->test, &works[i].done);
        assert_int_equal(works[i].commit.status, KX_OK);
    }
}

/* True if written entries are indexed at once: the hand-kept entries of their
 * old values are gone, unless another entry may own them, and the new ones are
 * there. */
static bool changes_are_seen(struct world *world, int shape)
{
    char key[48];
    for (size_t i = 0; i < world->hand_count[shape]; i++) {
        const struct hand *hand = &world->hands[shape][i];
        if (hand->owner < 0 || !world->touched[hand->owner])
            continue;
        bool stays = world->version[hand->owner] >= 0;
        if (stays)
            index_key(world, shape, hand->owner, key);
        if (stays && test_get(&world->test, world->mem, key) == NULL)
            return false;
        if (stays && strcmp(key, hand->key) == 0)
            continue;
        if ((hand->right || !shapes[shape].unique) &&
            test_get(&world->test, world->mem, hand->key) != NULL)
            return false;
    }
    return true;
}

static void adopt_all(struct world *world, bool live)
{
    burst(world, live);
    for (int shape = 0; shape < SHAPES; shape++)
        if (!changes_are_seen(world, shape))
            fail_msg("%s shows what was changed", shapes[shape].name);
    if (random_below(&world->seed, 3) == 0) {
        test_store_close(&world->test);
        test_store_open(&world->test);
    }
    for (int shape = 0; shape < SHAPES; shape++) {
        struct kx_index_info info = {.state = KX_INDEX_BUILDING};
        while (test_index(&world->test, shapes[shape].name, &info) == KX_OK &&
               info.state == KX_INDEX_BUILDING)
            usleep(500);
        assert_int_equal(info.state, KX_INDEX_READY);
    }
}

/* ---- Comparing ---------------------------------------------------------- */

/* True if each entry has its index entry, and there are no others. */
static bool rows_are_right(struct world *world, int shape)
{
    struct kx_index_info info;
    size_t count = 0;
    char key[48];
    for (int n = 0; n < OWNERS; n++) {
        if (world->version[n] < 0)
            continue;
        index_key(world, shape, n, key);
        struct kx_buffer record;
        struct kx_entry entry;
        kx_buffer_init(&record, world->mem);
        kx_read_begin(world->test.reader);
        enum kx_status status =
            kx_read(world->test.reader, test_key(world->mem, key), &record,
                    &entry, NULL);
        kx_read_end(world->test.reader);
        if (status != KX_OK)
            return false;
        struct kx_slice owner =
            test_key(world->mem, talloc_asprintf(world->mem, "[%d]", n));
        bool same =
            shapes[shape].copy
                ? kx_json_equal(entry.value.data, kx_text(value_of(world, n)))
                : kx_equal(entry.value.data, owner);
        if (!same)
            return false;
        count++;
    }
    const char *all =
        test_list(&world->test, world->mem,
                  talloc_asprintf(world->mem, "[\"%s\"]", shapes[shape].name));
    size_t listed = 0;
    for (const char *at = all; *at != '\0'; at++)
        listed += *at == '|';
    test_index(&world->test, shapes[shape].name, &info);
    return listed == count && info.entries == count;
}

/* True if each correct row that was not written since has its versionstamp,
 * and also a pointer whose entry was written with the same field. */
static bool stamps_are_kept(struct world *world, int shape)
{
    for (size_t i = 0; i < world->hand_count[shape]; i++) {
        const struct hand *hand = &world->hands[shape][i];
        if (!hand->right)
            continue;
        bool stays = shapes[shape].copy ? !world->touched[hand->owner]
                                        : !world->moved[hand->owner];
        if (stays && stamp_of(world, hand->key) != hand->stamp)
            return false;
    }
    return true;
}

static void compare(struct world *world, bool live)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        struct kx_index_info info;
        if (!rows_are_right(world, shape))
            fail_msg("the entries of %s are not right", shapes[shape].name);
        if (!stamps_are_kept(world, shape))
            fail_msg("%s has lost a versionstamp", shapes[shape].name);
        kx_read_begin(world->test.reader);
        kx_index_find(world->test.reader, kx_text(shapes[shape].name), &info);
        const uint64_t *counts = info.adoption->counts;
        assert_true(info.adoption->asked && info.adoption->done);
        if (!live)
            assert_memory_equal(counts, world->planted[shape],
                                sizeof world->planted[shape]);
        else
            assert_true(counts[KX_KEPT] <= world->planted[shape][KX_KEPT] &&
                        counts[KX_KEPT] + LIVE >=
                            world->planted[shape][KX_KEPT]);
        kx_read_end(world->test.reader);
    }
}

static void drop_all(struct world *world)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        struct kx_commit commit = {.command.kind = KX_DROP_INDEX,
                                   .command.index_name =
                                       kx_text(shapes[shape].name),
                                   .memory = world->mem};
        assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    }
}

static struct world *open_world(void)
{
    struct world *world = talloc_zero(NULL, struct world);
    world->seed = random_seed("adopt_random_test");
    world->mem = talloc_new(world);
    test_store_new(&world->test);
    return world;
}

static void close_world(struct world *world)
{
    test_store_remove(&world->test);
    talloc_free(world);
}

TEST(hand_kept_entries_become_those_of_the_index)
{
    struct world *world = open_world();
    for (int round = 0; round < ROUNDS; round++) {
        bool live = round % 2 != 0;
        talloc_free_children(world->mem);
        plant_all(world);
        for (int shape = 0; shape < SHAPES; shape++)
            check_dry_run(world, shape);
        adopt_all(world, live);
        compare(world, live);
        drop_all(world);
    }
    close_world(world);
}

/* The comparison must find each wrong entry and each lost versionstamp. */
TEST(comparison_of_groups_finds_planted_differences)
{
    struct world *world = open_world();
    plant_all(world);
    adopt_all(world, false);
    for (int shape = 0; shape < SHAPES; shape++) {
        assert_true(rows_are_right(world, shape));
        int version = world->version[3];
        world->version[3] = -1;
        assert_false(rows_are_right(world, shape));
        world->version[3] = version + 1;
        assert_false(rows_are_right(world, shape));
        world->version[3] = version;
        size_t i = 0;
        while (!world->hands[shape][i].right)
            i++;
        assert_true(stamps_are_kept(world, shape));
        world->hands[shape][i].stamp++;
        assert_false(stamps_are_kept(world, shape));
    }
    close_world(world);
}
