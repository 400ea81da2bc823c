#include "index_lives.h"

#include <inttypes.h>

#include "bdb/table.h"
#include "read/reader_state.h"

enum { MUTATIONS = 4 };

static size_t below(struct world *world, size_t limit)
{
    return random_below(&world->data.seed, limit);
}

const char *name_of(struct world *world, char letter, size_t n)
{
    return talloc_asprintf(world->data.mem, "%c%zu", letter, n);
}

enum kx_status about(struct world *world, size_t n, struct kx_commit commit)
{
    commit.command.index_name = kx_text(name_of(world, 'i', n));
    commit.memory = world->data.mem;
    return test_commit(&world->test, &commit);
}

static void write_random(struct world *world)
{
    struct kx_mutation mutations[MUTATIONS];
    struct data *data = &world->data;
    size_t count = 1 + below(world, MUTATIONS);
    memcpy(data->before, data->slots, sizeof data->slots);
    for (size_t i = 0; i < count; i++)
        mutations[i] = random_mutation(data);
    if (below(world, 20) == 0) {
        memcpy(data->slots, data->before, sizeof data->slots);
        mutations[0] = random_range(data);
        count = 1;
    }
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = data->mem};
    enum kx_status status = test_commit(&world->test, &commit);
    assert_true(status == KX_OK || status == KX_UNIQUE_VIOLATION ||
                status == KX_NOT_INDEXABLE);
    if (status != KX_OK)
        memcpy(data->slots, data->before, sizeof data->slots);
}

/* Entries under a name that is free, which an index may have as well. */
static void keep_by_hand(struct world *world, size_t n)
{
    static const char *const values[] = {"\"a\"", "1", "true,1", "\"a\",1"};
    for (size_t i = 1 + below(world, 3); i > 0; i--) {
        char *key = talloc_asprintf(world->data.mem, "[\"i%zu\",%s]", n,
                                    values[below(world, 4)]);
        struct kx_mutation mutation = {.type = KX_SET,
                                       .key = test_key(world->data.mem, key),
                                       .value = test_json("1"),
                                       .expires_at_ms =
                                           random_expiry(&world->data)};
        struct kx_commit commit = {.mutations = &mutation,
                                   .mutation_count = 1,
                                   .memory = world->data.mem};
        assert_int_equal(test_commit(&world->test, &commit), KX_OK);
    }
}

void set_pace(struct world *world, size_t n, bool paused, bool slow)
{
    struct kx_pace pace = {.sets_paused = true,
                           .paused = paused,
                           .sets_limit = true,
                           .per_second =
                               slow ? 300 + (uint32_t)below(world, 3000) : 0};
    about(world, n,
          (struct kx_commit){.command.kind = KX_PACE_INDEX,
                             .command.pace = pace});
}

static void declare(struct world *world, size_t n, const char *declaration)
{
    bool slow = below(world, 3) > 0;
    struct kx_commit commit = {
        .command.kind = KX_DECLARE_INDEX,
        .command.declaration = kx_text(talloc_asprintf(
            world->data.mem, "{\"adopt\":true,%s", declaration + 1)),
        .command.pace = {.paused = slow}};
    enum kx_status status = about(world, n, commit);
    assert_true(status == KX_OK || status == KX_INDEX_EXISTS);
    world->declared[n] = true;
    if (slow)
        set_pace(world, n, below(world, 8) == 0, true);
}

/* Declaring a failed index again restarts it, unless it was declared
 * differently meanwhile. */
static void declare_again(struct world *world, size_t n)
{
    struct kx_index_info info;
    kx_read_begin(world->test.reader);
    kx_index_find(world->test.reader, kx_text(name_of(world, 'i', n)), &info);
    const char *declaration =
        talloc_strndup(world->data.mem, (const char *)info.declaration.data,
                       info.declaration.size);
    kx_read_end(world->test.reader);
    if (info.state == KX_INDEX_FAILED)
        declare(world, n, declaration);
}

static void drop(struct world *world, size_t n)
{
    assert_int_equal(
        about(world, n, (struct kx_commit){.command.kind = KX_DROP_INDEX}),
        KX_OK);
    world->declared[n] = false;
}

static void declare_or_drop(struct world *world, size_t n)
{
    struct index_shape shape = random_shape(&world->data.seed, n);
    if (world->declared[n] && below(world, 2) == 0) {
        declare_again(world, n);
        return;
    }
    if (world->declared[n]) {
        drop(world, n);
        return;
    }
    if (below(world, 3) == 0)
        keep_by_hand(world, n);
    declare(world, n, shape_json(world->data.mem, &shape));
}

static void migrate(struct world *world, size_t n)
{
    static const char *const stores[] = {"\"pointer\"", "\"value\"",
                                         "{\"fields\":[\"/t\",\"/n/x\"]}"};
    struct kx_commit commit = {
        .command.kind =
            below(world, 3) == 0 ? KX_UNDO_MIGRATION : KX_MIGRATE_INDEX,
        .command.declaration = kx_text(talloc_asprintf(
            world->data.mem, "{\"unique\":%s,\"store\":%s}",
            below(world, 2) == 0 ? "true" : "false", stores[below(world, 3)]))};
    enum kx_status status = about(world, n, commit);
    assert_true(status == KX_OK || status == KX_INDEX_BUSY ||
                status == KX_NO_MIGRATION || status == KX_INDEX_NOT_READY ||
                status == KX_INDEX_ABSENT ||
                status == KX_BAD_INDEX /* unique, with a versionstamp */);
}

/* The index was made by other rules, as the catalog has it. */
static void make_outdated(struct world *world, size_t n)
{
    struct kx_buffer row;
    struct kx_store *store = world->test.store;
    const struct index *index =
        catalog_find(store->catalog, kx_text(name_of(world, 'i', n)));
    char *key =
        talloc_asprintf(world->data.mem, "index/%010" PRIu32, index->id);
    struct row_write write = {
        .type = ROW_PUT, .table = TABLE_CATALOG, .key = kx_text(key)};
    kx_buffer_init(&row, world->data.mem);
    kx_read_begin(world->test.reader);
    assert_int_equal(table_get(store->env, TABLE_CATALOG, write.key, &row),
                     KX_OK);
    kx_read_end(world->test.reader);
    kx_add_byte(&row, 0);
    strstr((char *)row.data, "\"extraction\":")[strlen("\"extraction\":")] =
        '1';
    write.value = kx_text((const char *)row.data);
    test_store_close(&world->test);
    test_write(&world->test, world->data.mem, &write);
    test_store_open(&world->test);
}

/* Perhaps by a program that makes other index entries. */
static void reopen(struct world *world, size_t n)
{
    if (world->declared[n] && below(world, 2) == 0)
        make_outdated(world, n);
    test_store_close(&world->test);
    test_store_open(&world->test);
}

void step(struct world *world)
{
    size_t n = below(world, NAMES);
    talloc_free_children(world->data.mem);
    kx_clock_set(world->data.now += (int64_t)below(world, 4));
    switch (below(world, 40)) {
    case 0:
    case 1:
        declare_or_drop(world, n);
        return;
    case 2:
    case 3:
        migrate(world, n);
        return;
    case 4:
        set_pace(world, n, below(world, 4) == 0, below(world, 2) == 0);
        return;
    case 5:
        about(world, n,
              (struct kx_commit){.command.kind = KX_VERIFY_INDEX,
                                 .command.repair = below(world, 2) == 0});
        return;
    case 6:
        if (below(world, 4) == 0)
            reopen(world, n);
        return;
    default:
        write_random(world);
    }
}

void begin_world(struct world *world, uint64_t seed)
{
    memset(&world->data, 0, sizeof world->data);
    memset(world->declared, 0, sizeof world->declared);
    world->data.seed = seed;
    world->data.now = 1000000;
    world->data.mem = talloc_new(world);
    kx_clock_set(world->data.now);
    test_store_new(&world->test);
}

void end_world(struct world *world)
{
    TALLOC_FREE(world->data.mem);
    kx_clock_set(0);
    test_store_remove(&world->test);
}
