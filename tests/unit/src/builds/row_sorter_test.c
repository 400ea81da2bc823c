/* Rows come out in key order, each as often as it went in. */
#include "builds/row_sorter.h"
#include "unit.h"

enum { ROWS = 10000 };

struct given {
    char key[24];
    char value[12];
};

static int by_key_then_value(const void *a, const void *b)
{
    const struct given *left = a;
    const struct given *right = b;
    int order = strcmp(left->key, right->key);
    return order != 0 ? order : strcmp(left->value, right->value);
}

/* Takes all rows; those with equal keys are put in the order of their values,
 * which the sorter does not promise. */
static size_t take_all(struct row_sorter *sorter, struct given *taken)
{
    struct row_write write;
    size_t count = 0;
    while (row_sorter_next(sorter, &write)) {
        snprintf(taken[count].key, sizeof taken->key, "%.*s",
                 (int)write.key.size, (const char *)write.key.data);
        snprintf(taken[count].value, sizeof taken->value, "%.*s",
                 (int)write.value.size, (const char *)write.value.data);
        assert_int_equal(write.type, ROW_PUT);
        assert_int_equal(write.table, TABLE_ENTRIES);
        assert_true(count == 0 ||
                    strcmp(taken[count - 1].key, taken[count].key) <= 0);
        count++;
    }
    qsort(taken, count, sizeof *taken, by_key_then_value);
    return count;
}

/* Keys that differ early, late, only in length, or not at all. */
TEST(row_sorter_returns_rows_in_key_order)
{
    static const char *const middles[] = {"", "a", "ab", "abcdefghi", "b"};
    uint64_t seed = random_seed("sorter");
    struct given *given = talloc_zero_array(*state, struct given, ROWS);
    struct given *taken = talloc_zero_array(*state, struct given, ROWS);
    struct row_sorter *sorter = row_sorter_create(*state, 5);
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(given[i].key, sizeof given->key, "name:%s%zu",
                 middles[random_below(&seed, 5)], random_below(&seed, 3000));
        snprintf(given[i].value, sizeof given->value, "%zu",
                 random_below(&seed, 10));
        assert_true(row_sorter_add(sorter, kx_text(given[i].key),
                                   kx_text(given[i].value)));
    }
    assert_int_equal(row_sorter_count(sorter), ROWS);
    qsort(given, ROWS, sizeof *given, by_key_then_value);
    assert_int_equal(take_all(sorter, taken), ROWS);
    assert_memory_equal(given, taken, ROWS * sizeof *given);
    assert_false(row_sorter_failed(sorter));
    talloc_free(sorter);
    talloc_free(given);
    talloc_free(taken);
}

TEST(empty_row_sorter_returns_no_row)
{
    struct row_sorter *sorter = row_sorter_create(*state, 3);
    struct row_write write;
    assert_false(row_sorter_next(sorter, &write));
    assert_false(row_sorter_next(sorter, &write));
    assert_false(row_sorter_failed(sorter));
    talloc_free(sorter);
}

TEST(row_sorter_copies_rows)
{
    struct row_sorter *sorter = row_sorter_create(*state, 1);
    struct row_write write;
    char key[] = "key";
    char value[] = "value";
    assert_true(row_sorter_add(sorter, kx_text(key), kx_text(value)));
    memset(key, 'x', 3);
    memset(value, 'x', 5);
    assert_true(row_sorter_next(sorter, &write));
    assert_true(kx_equal(write.key, kx_text("key")));
    assert_true(kx_equal(write.value, kx_text("value")));
    assert_false(row_sorter_next(sorter, &write));
    talloc_free(sorter);
}

static void look_at_block(const void *block, int depth, int max_depth,
                          int is_ref, void *largest)
{
    size_t size = talloc_get_size(block);
    (void)depth, (void)max_depth, (void)is_ref;
    if (size > *(size_t *)largest)
        *(size_t *)largest = size;
}

/* Talloc allocates at most 256 MiB at once, so one large block could not use
 * all of --build-memory. */
TEST(row_sorter_blocks_have_a_fixed_size)
{
    struct row_sorter *sorter = row_sorter_create(*state, 0);
    struct row_write write;
    size_t largest = 0;
    for (size_t i = 0; i < 20 * ROWS; i++)
        assert_true(row_sorter_add(sorter, kx_slice(&i, 2), kx_text("")));
    talloc_report_depth_cb(sorter, 0, -1, look_at_block, &largest);
    assert_true(largest > 0 && largest <= 1 << 20);
    for (size_t i = 0; i < 20 * ROWS; i++)
        assert_true(row_sorter_next(sorter, &write));
    assert_false(row_sorter_next(sorter, &write));
    talloc_free(sorter);
}

TESTS_SHARE(memory_open, memory_close)
