/* The place of a share of a range, on a real store: compared with how many
 * entries a scan finds before it. */
#include "store.h"

#include "catalog/catalog.h"
#include "read/reader_state.h"

enum {
    FEW = 12,
    MANY = 20000,
    STEPS = 10,
    LONG = 200, /* bytes of a key */
    GROWTH = 100,
    GROWN = 5000
};

static const char *of_number(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d}", n % 97);
}

static size_t count(struct story *s, const char *index,
                    const struct kx_range *range)
{
    struct kx_entry entry;
    enum kx_status status;
    size_t found = 0;
    kx_read_begin(s->test.reader);
    if (index != NULL)
        status = kx_scan_index(s->test.reader, kx_text(index), range, NULL);
    else
        status = kx_scan(s->test.reader, range, NULL);
    assert_int_equal(status, KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK)
        found++;
    kx_read_end(s->test.reader);
    return found;
}

/* The part of the range's entries that lies before the place of the share. */
static double part_before(struct story *s, const char *index,
                          struct kx_range range, double share)
{
    struct kx_buffer place;
    struct kx_slice name = index == NULL ? kx_slice(NULL, 0) : kx_text(index);
    kx_buffer_init(&place, s->mem);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_find_share(s->test.reader, name, &range, share, &place),
                     KX_OK);
    kx_read_end(s->test.reader);
    range.count_only = true;
    double all = (double)count(s, index, &range);
    assert_true(kx_compare(kx_buffer_slice(&place), range.start) >= 0);
    if (range.end.size > 0)
        assert_true(kx_compare(kx_buffer_slice(&place), range.end) <= 0);
    range.end = kx_buffer_slice(&place);
    if (kx_equal(range.start, range.end))
        return 0;
    return (double)count(s, index, &range) / all;
}

/* The tree is not balanced in rows, so a place is a rough one; but the places
 * of a series are in its order. */
static void check_series(struct story *s, const char *index,
                         struct kx_range range, double tolerance)
{
    double last = 0;
    for (int i = 0; i <= STEPS; i++) {
        double share = (double)i / STEPS;
        double part = part_before(s, index, range, share);
        assert_true(part >= last);
        assert_true(part >= share - tolerance && part <= share + tolerance);
        last = part;
    }
    assert_true(last > 0.7);
}

static struct kx_range under(struct story *s, const char *prefix)
{
    struct kx_buffer start, end;
    struct kx_slice key = test_key(s->mem, prefix);
    kx_buffer_init(&start, s->mem);
    kx_buffer_init(&end, s->mem);
    kx_add_slice(&start, key);
    kx_add_byte(&start, 0x00);
    kx_add_slice(&end, key);
    kx_add_byte(&end, 0xff);
    return (struct kx_range){.start = kx_buffer_slice(&start),
                             .end = kx_buffer_slice(&end)};
}

TEST_WITH(share_estimates_are_within_30_percent, begin, finish)
{
    struct story *s = *state;
    char *deep = talloc_array(s->mem, char, 301);
    memset(deep, 'd', 300);
    deep[300] = '\0';
    for (int first = 0; first < MANY; first += 1000)
        test_fill(&s->test, "many", first, 1000, of_number);
    test_fill(&s->test, "few", 0, FEW, of_number);
    test_fill(&s->test, "one", 0, 1, of_number);
    test_fill(&s->test, deep, 0, 1000, of_number);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_n\",\"prefix\":[\"many\"],"
                                  "\"fields\":[\"/n\"]}"),
                     KX_OK);
    struct kx_index_info info;
    do
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    while (info.state == KX_INDEX_BUILDING);
    check_series(s, NULL, under(s, "[\"many\"]"), 0.3);
    check_series(s, NULL, under(s, "[\"few\"]"), 0.3);
    check_series(s, NULL, under(s, talloc_asprintf(s->mem, "[\"%s\"]", deep)),
                 0.3);
    check_series(s, "by_n", (struct kx_range){.reverse = false}, 0.3);
    assert_true(part_before(s, NULL, under(s, "[\"one\"]"), 0) == 0);
}

/* Rows are added at the end of a tree of which each page has few rows or
 * children, so that its levels become more several times. A new level's root
 * has a full child and one with a single page. */
TEST_WITH(share_estimates_stay_right_while_a_tree_grows_at_its_end, begin,
          finish)
{
    struct story *s = *state;
    char *deep = talloc_array(s->mem, char, LONG + 1);
    memset(deep, 'd', LONG);
    deep[LONG] = '\0';
    for (int first = 0; first < GROWN; first += GROWTH) {
        test_fill(&s->test, deep, first, GROWTH, of_number);
        check_series(s, NULL,
                     under(s, talloc_asprintf(s->mem, "[\"%s\"]", deep)), 0.10);
    }
}

/* The range has no entries, or the index does not exist. */
TEST_WITH(share_of_an_empty_range_has_a_place, begin, finish)
{
    struct story *s = *state;
    struct kx_buffer place;
    struct kx_range range = under(s, "[\"none\"]");
    kx_buffer_init(&place, s->mem);
    kx_read_begin(s->test.reader);
    assert_int_equal(
        kx_find_share(s->test.reader, kx_slice(NULL, 0), &range, 0.5, &place),
        KX_OK);
    assert_true(kx_compare(kx_buffer_slice(&place), range.start) >= 0);
    assert_true(kx_compare(kx_buffer_slice(&place), range.end) <= 0);
    assert_int_equal(
        kx_find_share(s->test.reader, kx_text("none"), &range, 0.5, &place),
        KX_INDEX_ABSENT);
    kx_read_end(s->test.reader);
}

/* Bytes of the index by_n, whose rows were last sampled as `kept_ns` says. */
static uint64_t bytes_with(struct story *s, uint64_t kept_ns)
{
    struct index *index = catalog_find(s->test.store->catalog, kx_text("by_n"));
    uint64_t bytes;
    if (kept_ns != 0)
        index_usage_keep_row_bytes(&index->usage, kept_ns, 5000);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_bytes(s->test.reader, kx_text("by_n"), &bytes),
                     KX_OK);
    kx_read_end(s->test.reader);
    return bytes;
}

TEST_WITH(sampled_row_size_of_an_index_is_reused_for_a_while, begin, finish)
{
    struct story *s = *state;
    const uint64_t hour_ns = 3600000ull * KX_MS_NS;
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_n\",\"prefix\":[\"many\"],"
                                  "\"fields\":[\"/n\"]}"),
                     KX_OK);
    test_fill(&s->test, "many", 0, FEW, of_number);
    uint64_t sampled = bytes_with(s, 0);
    assert_in_range(sampled, FEW, FEW * 100);
    assert_int_equal(bytes_with(s, kx_monotonic_ns() + hour_ns), FEW * 5000);
    assert_int_equal(bytes_with(s, 1), sampled);
}
