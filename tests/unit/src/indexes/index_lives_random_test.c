/* Indexes of every form that live all at once: declared over data and over
 * hand-kept entries, migrated and taken back, paused, throttled, verified and
 * dropped in the middle of each, while entries are written and expire and the
 * store is opened again. Whenever nothing is left to do, each index equals one
 * that is built from the data, conflicts included, its verification finds
 * nothing, and no row of the table is left over or counted twice.
 * KX_TEST_SEED=n replays a run. */
#include "index_lives.h"
#include "bdb/range.h"
#include "read/reader_state.h"

enum { STORES = 6, RESTS = 3, STEPS = 300 };

/* ---- At rest ------------------------------------------------------------ */

static bool index_works(const struct index *index)
{
    bool comes = index->replaces != 0 && index->conflicts == 0 &&
                 index->state != KX_INDEX_FAILED;
    bool verified =
        index->verification != NULL && index->verification->report.running;
    return index->state == KX_INDEX_BUILDING || index->form.rewriting ||
           comes || (index->state == KX_INDEX_READY && verified);
}

static bool works(struct world *world)
{
    struct kx_store *store = world->test.store;
    kx_read_begin(world->test.reader);
    bool some = store->catalog->dropping_count > 0;
    for (size_t i = 0; i < store->catalog->count; i++)
        some |= index_works(store->catalog->indexes[i]);
    kx_read_end(world->test.reader);
    return some;
}

/* The first commit is taken when the writer has done a job after the one
 * before: what is due has expired then, but for what that job had no room for.
 */
static void come_to_rest(struct world *world)
{
    for (size_t n = 0; n < NAMES; n++)
        set_pace(world, n, false, false);
    for (int i = 0; i < SLOTS || works(world); i++) {
        struct kx_commit nothing = {.memory = world->data.mem};
        assert_int_equal(test_commit(&world->test, &nothing), KX_OK);
        usleep(works(world) ? 500 : 0);
    }
}

static void find(struct world *world, const char *what, const char *name)
{
    if (world->wrong[0] == '\0')
        snprintf(world->wrong, sizeof world->wrong, "%s: %s", name, what);
}

/* The entries of an index, without the first letter of its name. */
static const char *listed(struct world *world, const char *name)
{
    struct kx_buffer out;
    struct kx_buffer line;
    struct kx_entry entry;
    kx_buffer_init(&out, world->data.mem);
    kx_buffer_init(&line, world->data.mem);
    struct kx_slice prefix = test_key(
        world->data.mem, talloc_asprintf(world->data.mem, "[\"%s\"]", name));
    struct kx_range range = {.start = prefix};
    kx_read_begin(world->test.reader);
    assert_int_equal(kx_scan(world->test.reader, &range, NULL), KX_OK);
    while (kx_scan_next(world->test.reader, &entry) == KX_OK &&
           kx_starts_with(entry.key, prefix)) {
        line.size = 0;
        test_show(&entry, &line);
        kx_add(&out, line.data + 3, line.size - 3);
        kx_add_text(&out, talloc_asprintf(world->data.mem, "%lld\n",
                                          (long long)entry.expires_at_ms));
    }
    kx_read_end(world->test.reader);
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

static void verify(struct world *world, size_t n)
{
    struct kx_index_info info;
    assert_int_equal(
        about(world, n, (struct kx_commit){.command.kind = KX_VERIFY_INDEX}),
        KX_OK);
    while (works(world))
        usleep(500);
    kx_read_begin(world->test.reader);
    kx_index_find(world->test.reader, kx_text(name_of(world, 'i', n)), &info);
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        if (info.verification->counts[damage] != 0)
            find(world, "its verification finds something",
                 name_of(world, 'i', n));
    if (info.verification->miscounted != 0 || !info.left_out_known)
        find(world, "its verification counts other entries as left out",
             name_of(world, 'i', n));
    kx_read_end(world->test.reader);
}

/* Builds one that is declared the same from what is stored. */
static struct kx_index_info build_twin(struct world *world, size_t n,
                                       struct kx_slice declaration)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    const char *twin = name_of(world, 't', n);
    char *text = talloc_strndup(world->data.mem, (const char *)declaration.data,
                                declaration.size);
    text[strlen("{\"name\":\"")] = 't';
    assert_int_equal(test_declare(&world->test, world->data.mem, text), KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&world->test, twin, &info), KX_OK);
    return info;
}

static void drop_twin(struct world *world, size_t n)
{
    assert_int_equal(
        test_drop(&world->test, world->data.mem, name_of(world, 't', n)),
        KX_OK);
}

static void compare_form(struct world *world, size_t n,
                         const struct kx_index_info *info)
{
    const char *name = name_of(world, 'i', n);
    struct kx_index_info twin = build_twin(world, n, info->declaration);
    bool readable = info->state != KX_INDEX_CONFLICTED;
    if (readable && (twin.state != KX_INDEX_READY ||
                     strcmp(listed(world, name),
                            listed(world, name_of(world, 't', n))) != 0))
        find(world, "its entries are not those that are built anew", name);
    if (readable && twin.entries != info->entries)
        find(world, "its entries are miscounted", name);
    if (readable &&
        (!twin.left_out_known || !info->left_out_known ||
         memcmp(twin.left_out, info->left_out, sizeof twin.left_out) != 0))
        find(world, "the entries that it leaves out are miscounted", name);
    if (!readable && (twin.state != KX_INDEX_CONFLICTED ||
                      twin.conflicts != info->conflicts))
        find(world, "its conflicts are not those that are built anew", name);
    drop_twin(world, n);
    if (readable)
        verify(world, n);
    world->ready += readable;
}

/* Compares the new form of an index that cannot become unique. */
static void compare_target(struct world *world, size_t n,
                           const struct kx_index_info *info)
{
    struct kx_index_info twin = build_twin(world, n, info->target);
    if (twin.state != KX_INDEX_CONFLICTED || twin.conflicts != info->conflicts)
        find(world, "its migration stands still for another reason",
             name_of(world, 'i', n));
    drop_twin(world, n);
}

/* The declared index has failed because of entries that may be corrected by
 * now. */
static void compare(struct world *world, size_t n)
{
    struct kx_index_info info;
    const char *name = name_of(world, 'i', n);
    kx_read_begin(world->test.reader);
    enum kx_status status =
        kx_index_find(world->test.reader, kx_text(name), &info);
    info.declaration.data = talloc_memdup(
        world->data.mem, info.declaration.data, info.declaration.size);
    info.target.data =
        talloc_memdup(world->data.mem, info.target.data, info.target.size);
    kx_read_end(world->test.reader);
    if (status != KX_OK || info.state == KX_INDEX_FAILED)
        return;
    if (info.state != KX_INDEX_CONFLICTED || info.target.size == 0)
        compare_form(world, n, &info);
    if (info.state == KX_INDEX_MIGRATING &&
        info.migration == KX_INDEX_CONFLICTED)
        compare_target(world, n, &info);
}

/* Every row is a client's entry that can be read or is counted to an index. */
static void count_rows(struct world *world)
{
    struct kx_slice key;
    struct kx_slice bytes;
    uint64_t rows = 0;
    uint64_t clients = 0;
    const struct catalog *catalog = world->test.store->catalog;
    struct engine_range *range = world->test.reader->rows;
    come_to_rest(world);
    kx_read_begin(world->test.reader);
    assert_int_equal(
        engine_range_begin(range, kx_slice(NULL, 0), kx_slice(NULL, 0)), KX_OK);
    for (; engine_range_next(range, &key, &bytes) == KX_OK; rows++)
        clients += !record_of_index(bytes);
    engine_range_end(range);
    if (rows != catalog_row_count(catalog) || clients != catalog->entries)
        find(world, "rows are miscounted", "the table");
    kx_read_end(world->test.reader);
}

static void rest(struct world *world)
{
    talloc_free_children(world->data.mem);
    come_to_rest(world);
    for (size_t n = 0; n < NAMES; n++)
        if (world->declared[n])
            compare(world, n);
    count_rows(world);
}

/* ---- Runs --------------------------------------------------------------- */

static void live(struct world *world)
{
    for (int i = 0; i < STEPS; i++)
        step(world);
    rest(world);
}

TEST(each_index_equals_a_rebuild_from_the_data)
{
    uint64_t seed = random_seed("index_lives_random_test");
    struct world *world = talloc_zero(NULL, struct world);
    for (int i = 0; i < STORES; i++) {
        begin_world(world, random_next(&seed));
        for (int n = 0; n < RESTS && world->wrong[0] == '\0'; n++)
            live(world);
        if (world->wrong[0] != '\0')
            fail_msg("store %d: %s", i, world->wrong);
        end_world(world);
    }
    assert_true(world->ready > STORES * RESTS);
    talloc_free(world);
}

TEST(comparison_detects_a_lost_row)
{
    uint64_t seed = random_seed("index_lives_random_test");
    struct world *world = talloc_zero(NULL, struct world);
    bool lost = false;
    begin_world(world, seed);
    while (!lost) {
        live(world);
        assert_string_equal(world->wrong, "");
        for (size_t n = 0; n < NAMES && !lost; n++)
            lost = test_lose_row(&world->test, world->data.mem,
                                 name_of(world, 'i', n));
    }
    rest(world);
    assert_string_not_equal(world->wrong, "");
    end_world(world);
    talloc_free(world);
}
