/* A follower of an index of changes: after each commit it reads what is newer
 * than all that it has seen, and its copy then has the entries that the model
 * of indexes (index_model.h) says are in the index, each with its versionstamp.
 * So every removal, expiry and change of a field that takes an entry out of a
 * feed must have left a tombstone. Without tombstones the copy differs, which
 * must be seen. When their time is up they are gone, and the history begins
 * after them. KX_TEST_SEED=n replays a run. */
#include "index_changes.h"
#include "commit/store_state.h"

enum {
    STORES = 8,
    COMMITS = 250,
    MUTATIONS = 4,
    COPIED_MAX = 4096,
    STAMP = 22
};

/* The follower's copy of an entry in one feed. */
struct copied {
    char *place; /* fields and key after the prefix, as digits */
    uint64_t stamp;
    int64_t expires_at_ms;
};

struct follower {
    struct test_store test;
    struct data data;
    struct index_shape shape; /* without the versionstamp */
    void *mem;                /* of the copy */
    struct copied copy[COPIED_MAX];
    size_t count;
    uint64_t seen;
    char wrong[2000];
};

static char *digits(void *mem, struct kx_slice head, struct kx_slice owner)
{
    char *out = talloc_strdup(mem, "");
    for (size_t i = 0; i < head.size; i++)
        out = talloc_asprintf_append(out, "%02x", head.data[i]);
    out = talloc_strdup_append(out, "/");
    for (size_t i = 0; i < owner.size; i++)
        out = talloc_asprintf_append(out, "%02x", owner.data[i]);
    return out;
}

static void forget(struct follower *follower, const char *place)
{
    for (size_t i = 0; i < follower->count; i++)
        if (strcmp(follower->copy[i].place, place) == 0) {
            follower->copy[i] = follower->copy[--follower->count];
            return;
        }
}

static void apply(struct follower *follower, const struct kx_entry *entry,
                  struct kx_slice position)
{
    size_t skip = test_key(follower->data.mem, "[\"p\"]").size;
    struct kx_slice owner =
        kx_slice(entry->key.data + skip, entry->key.size - skip);
    struct kx_slice head =
        kx_slice(position.data, position.size - owner.size - STAMP);
    char *place = digits(follower->mem, head, owner);
    forget(follower, place);
    if (entry->deleted)
        return;
    assert_true(follower->count < COPIED_MAX);
    follower->copy[follower->count++] =
        (struct copied){.place = place,
                        .stamp = entry->stamp,
                        .expires_at_ms = entry->expires_at_ms};
}

/* The feeds come one after another, so a place is looked at in the order of its
 * versionstamps. */
static void follow(struct follower *follower)
{
    struct kx_range all = {.reverse = false};
    struct kx_entry entry;
    uint64_t seen = follower->seen;
    kx_read_begin(follower->test.reader);
    assert_int_equal(kx_scan_index(follower->test.reader,
                                   kx_text(follower->shape.name), &all, NULL),
                     KX_OK);
    while (kx_scan_next(follower->test.reader, &entry) == KX_OK) {
        if (entry.stamp <= follower->seen)
            continue;
        apply(follower, &entry, kx_scan_position(follower->test.reader));
        seen = entry.stamp > seen ? entry.stamp : seen;
    }
    kx_read_end(follower->test.reader);
    follower->seen = seen;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *joined(void *mem, char **lines, size_t count)
{
    char *out = talloc_strdup(mem, "");
    qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count; i++)
        out = talloc_asprintf_append(out, "%s\n", lines[i]);
    return out;
}

static char *copied(struct follower *follower)
{
    void *mem = follower->data.mem;
    char *lines[COPIED_MAX];
    size_t count = 0;
    for (size_t i = 0; i < follower->count; i++) {
        const struct copied *one = &follower->copy[i];
        if (one->expires_at_ms == 0 || one->expires_at_ms > follower->data.now)
            lines[count++] = talloc_asprintf(mem, "%s %llu", one->place,
                                             (unsigned long long)one->stamp);
    }
    return joined(mem, lines, count);
}

static char *expected(struct follower *follower)
{
    void *mem = follower->data.mem;
    char *lines[COPIED_MAX];
    size_t count = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        const struct model_entry *entry = &follower->data.slots[slot];
        bool bad;
        if (!alive(&follower->data, entry))
            continue;
        size_t skip = test_key(mem, "[\"p\"]").size;
        struct kx_slice key = slot_key(mem, slot);
        struct values values = index_values(
            mem, &follower->shape, &entry->document, slot, FLAW_NONE, &bad);
        for (size_t n = 0; n < values.count; n++)
            lines[count++] = talloc_asprintf(
                mem, "%s %llu",
                digits(mem, kx_buffer_slice(&values.list[n]),
                       kx_slice(key.data + skip, key.size - skip)),
                (unsigned long long)entry->stamp);
    }
    return joined(mem, lines, count);
}

static void compare(struct follower *follower)
{
    char *have = copied(follower);
    char *want = expected(follower);
    if (strcmp(have, want) != 0 && follower->wrong[0] == '\0')
        snprintf(follower->wrong, sizeof follower->wrong, "has\n%s\nnot\n%s",
                 have, want);
}

static void run_commit(struct follower *follower)
{
    struct model_entry before[SLOTS];
    struct kx_mutation mutations[MUTATIONS];
    struct data *data = &follower->data;
    struct kx_commit commit = {.mutations = mutations, .memory = data->mem};
    bool may = true;
    memcpy(before, data->slots, sizeof before);
    commit.mutation_count = 1;
    if (random_below(&data->seed, 10) == 0)
        mutations[0] = random_range(data);
    else if (random_below(&data->seed, 10) == 0)
        mutations[0] = random_range_patch(data, &may);
    else
        for (commit.mutation_count = 0;
             commit.mutation_count <= random_below(&data->seed, MUTATIONS);)
            mutations[commit.mutation_count++] = random_mutation(data);
    if (test_commit(&follower->test, &commit) == KX_OK)
        keep_changes(data, commit.stamp);
    else
        memcpy(data->slots, before, sizeof before);
}

static void start_following(struct follower *follower, uint64_t seed,
                            const char *tombstones)
{
    *follower = (struct follower){.data = {.seed = seed, .now = 1000000}};
    struct data *data = &follower->data;
    data->mem = talloc_new(NULL);
    follower->mem = talloc_new(NULL);
    kx_clock_set(data->now);
    test_store_new(&follower->test);
    struct index_shape shape = random_shape(&data->seed, 0);
    shape.unique = shape.error = false;
    shape.field_count = random_below(&data->seed, 2);
    if (shape.field_count > 0 && shape.fields[0] == FROM_STAMP)
        shape.fields[0] = FROM_A;
    follower->shape = shape;
    shape.fields[shape.field_count++] = FROM_STAMP;
    char *json = shape_json(data->mem, &shape);
    json[strlen(json) - 1] = '\0';
    json = talloc_asprintf(data->mem, "%s%s}", json, tombstones);
    assert_int_equal(test_declare(&follower->test, data->mem, json), KX_OK);
}

static void end_following(struct follower *follower)
{
    talloc_free(follower->data.mem);
    talloc_free(follower->mem);
    kx_clock_set(0);
    test_store_remove(&follower->test);
}

static void run(struct follower *follower)
{
    struct data *data = &follower->data;
    for (int i = 0; i < COMMITS && follower->wrong[0] == '\0'; i++) {
        kx_clock_set(data->now += (int64_t)random_below(&data->seed, 4));
        talloc_free_children(data->mem);
        run_commit(follower);
        follow(follower);
        compare(follower);
        if (random_below(&data->seed, 50) == 0) {
            test_store_close(&follower->test);
            test_store_open(&follower->test);
        }
    }
}

/* Waits until each expired entry has its tombstone. */
static void await_expiry(struct follower *follower)
{
    bool left = true;
    kx_clock_set(follower->data.now += LIFE_MAX + 1);
    while (left) {
        follow(follower);
        left = false;
        for (size_t i = 0; i < follower->count; i++)
            left |= follower->copy[i].expires_at_ms != 0;
        usleep(500);
    }
    compare(follower);
}

/* When all of them are gone, every stamp at which one was is before the
 * history.
 */
static void await_sweep(struct follower *follower)
{
    struct kx_index_info info = {.entries = 0};
    kx_clock_set(follower->data.now += 3600001);
    do {
        usleep(500);
        assert_int_equal(
            test_index(&follower->test, follower->shape.name, &info), KX_OK);
    } while (info.entries > follower->count);
    assert_int_equal(info.entries, follower->count);
    const struct index *index = catalog_find(follower->test.store->catalog,
                                             kx_text(follower->shape.name));
    assert_true(index->history > 0);
    uint64_t history = index->history;
    test_store_close(&follower->test);
    test_store_open(&follower->test);
    index = catalog_find(follower->test.store->catalog,
                         kx_text(follower->shape.name));
    assert_true(index->history == history);
    assert_true(history <= follower->test.store->catalog->stamp);
}

TEST(copy_kept_by_tombstones_equals_the_entries)
{
    uint64_t seed = random_seed("tombstone_random_test");
    struct follower *follower = talloc(NULL, struct follower);
    for (int i = 0; i < STORES; i++) {
        start_following(follower, random_next(&seed), ",\"tombstones\":\"1h\"");
        run(follower);
        if (follower->wrong[0] == '\0')
            await_expiry(follower);
        if (follower->wrong[0] != '\0')
            fail_msg("store %d: %s", i, follower->wrong);
        await_sweep(follower);
        end_following(follower);
    }
    talloc_free(follower);
}

TEST(copy_kept_without_tombstones_goes_wrong)
{
    uint64_t seed = random_seed("tombstone_random_test");
    struct follower *follower = talloc(NULL, struct follower);
    for (int i = 0; i < STORES; i++) {
        start_following(follower, random_next(&seed), "");
        run(follower);
        if (follower->wrong[0] == '\0')
            fail_msg("store %d: the copy is right", i);
        end_following(follower);
    }
    talloc_free(follower);
}
