/* Groups added up, and counts that an index holds, on a real store: after each
 * of many random writes, some of which expire, they are what a scan of the
 * entries gives. KX_TEST_SEED=n replays a run. */
#include "store.h"

#include "kindex/aggregate.h"

enum { KEYS = 40, GROUPS = 5, WRITES = 400 };

static const int64_t NOON_MS = 1000000;

static void declare(struct story *s, const char *json)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    assert_int_equal(test_declare(&s->test, s->mem, json), KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(
            test_index(&s->test, json[9] == 'n' ? "n" : "g", &info), KX_OK);
}

/* The keys of the prefix. */
static struct kx_range all_of(void *mem, const char *json)
{
    struct kx_range range;
    for (int i = 0; i < 2; i++) {
        struct kx_buffer bound;
        kx_buffer_init(&bound, mem);
        kx_add_slice(&bound, test_key(mem, json));
        kx_add_byte(&bound, i == 0 ? 0x00 : 0xff);
        *(i == 0 ? &range.start : &range.end) = kx_buffer_slice(&bound);
    }
    return (struct kx_range){.start = range.start, .end = range.end};
}

static long number_in(struct kx_slice value)
{
    return strtol(strchr((const char *)value.data, 'n') + 3, NULL, 10);
}

/* Returns the totals of all entries in the form of the index; *count_out is
 * their number. */
static const char *scanned(struct story *s, uint64_t *count_out)
{
    struct kx_range range = all_of(s->mem, "[\"a\"]");
    struct kx_entry entry;
    bool seen[GROUPS] = {false};
    long sum = 0;
    int groups = 0;
    *count_out = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK) {
        size_t group = entry.value.data.data[5] - '0';
        groups += !seen[group];
        seen[group] = true;
        sum += number_in(entry.value.data);
        ++*count_out;
    }
    kx_read_end(s->test.reader);
    return talloc_asprintf(
        s->mem, "{\"count\":%d,\"sum\":{\"/n\":\"%ld.0\"},\"groups\":%d}",
        (int)*count_out, sum, groups);
}

static const char *added_up(struct story *s)
{
    struct kx_range range = {.count_only = false};
    struct kx_buffer totals;
    kx_buffer_init(&totals, s->mem);
    kx_read_begin(s->test.reader);
    enum kx_status status =
        kx_aggregate(s->test.reader, kx_text("g"), &range, &totals, NULL);
    kx_read_end(s->test.reader);
    assert_int_equal(status, KX_OK);
    kx_add_byte(&totals, 0);
    return (const char *)totals.data;
}

static enum kx_status held(struct story *s, struct kx_range range,
                           uint64_t *count_out)
{
    struct kx_slice index;
    kx_read_begin(s->test.reader);
    enum kx_status status =
        kx_count_held(s->test.reader, &range, &index, count_out);
    assert_true(status != KX_OK || kx_equal(index, kx_text("n")));
    kx_read_end(s->test.reader);
    return status;
}

static void compare(struct story *s)
{
    uint64_t count;
    uint64_t held_count;
    const char *wanted = scanned(s, &count);
    assert_string_equal(added_up(s), wanted);
    assert_int_equal(held(s, all_of(s->mem, "[\"a\"]"), &held_count), KX_OK);
    assert_true(held_count == count);
}

static void write_one(struct story *s, uint64_t *seed)
{
    char *key =
        talloc_asprintf(s->mem, "[\"a\",%d]", (int)random_below(seed, KEYS));
    char *value = talloc_asprintf(s->mem, "{\"g\":%d,\"n\":%d}",
                                  (int)random_below(seed, GROUPS),
                                  (int)random_below(seed, 2000) - 1000);
    struct kx_mutation mutation = {
        .type = random_below(seed, 4) == 0 ? KX_DELETE : KX_SET,
        .key = test_key(s->mem, key)};
    if (mutation.type == KX_SET)
        mutation.value = test_json(value);
    if (mutation.type == KX_SET && random_below(seed, 3) == 0)
        mutation.expires_at_ms =
            kx_now_ms() + (int64_t)random_below(seed, 10) + 1;
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

TEST_WITH(aggregates_equal_a_scan_after_random_writes, begin, finish)
{
    struct story *s = *state;
    uint64_t seed = random_seed("reader_aggregate_test");
    kx_clock_set(NOON_MS);
    declare(s, "{\"name\":\"n\",\"prefix\":[\"a\"],\"fields\":[],"
               "\"store\":{\"aggregate\":{\"count\":true}}}");
    declare(s, "{\"name\":\"g\",\"prefix\":[\"a\"],\"fields\":[\"/g\"],"
               "\"store\":{\"aggregate\":{\"sum\":[{\"path\":\"/n\","
               "\"scale\":1}]}}}");
    compare(s);
    for (int i = 0; i < WRITES; i++) {
        write_one(s, &seed);
        compare(s);
        kx_clock_set(kx_now_ms() + (int64_t)random_below(&seed, 4));
        compare(s);
    }
    kx_clock_set(0);
}

/* Other ranges, and indexes that hold something else. */
TEST_WITH(count_is_taken_from_an_index_of_exactly_its_prefix, begin, finish)
{
    struct story *s = *state;
    uint64_t count;
    struct kx_range range = all_of(s->mem, "[\"a\"]");
    assert_int_equal(held(s, range, &count), KX_ABSENT);
    declare(s, "{\"name\":\"n\",\"prefix\":[\"a\"],\"fields\":[],"
               "\"store\":{\"aggregate\":{\"count\":true}}}");
    assert_int_equal(held(s, range, &count), KX_OK);
    assert_true(count == 0);
    assert_int_equal(held(s, all_of(s->mem, "[\"a\",1]"), &count), KX_ABSENT);
    assert_int_equal(held(s, all_of(s->mem, "[\"b\"]"), &count), KX_ABSENT);
    range.after = range.start;
    assert_int_equal(held(s, range, &count), KX_ABSENT);
    range = all_of(s->mem, "[\"a\"]");
    range.start = test_key(s->mem, "[\"a\",1]");
    assert_int_equal(held(s, range, &count), KX_ABSENT);
}

TEST_WITH(aggregate_rejects_an_index_without_totals, begin, finish)
{
    struct story *s = *state;
    struct kx_range range = {.count_only = false};
    struct kx_buffer totals;
    struct kx_fault fault;
    kx_buffer_init(&totals, s->mem);
    declare(s, "{\"name\":\"n\",\"prefix\":[\"a\"],\"fields\":[\"/g\"]}");
    kx_read_begin(s->test.reader);
    assert_int_equal(
        kx_aggregate(s->test.reader, kx_text("n"), &range, &totals, &fault),
        KX_BAD_INDEX);
    assert_int_equal(
        kx_aggregate(s->test.reader, kx_text("m"), &range, &totals, &fault),
        KX_INDEX_ABSENT);
    kx_read_end(s->test.reader);
}
