/* Several ranges as one list, compared with a model that scans each range and
 * sorts what it finds: of one index, of several, of entries, in pages. */
#include "store.h"

#include "kindex/ranges.h"

enum { ENTRIES = 400, LISTS = 400, RANGES = 5, PLACES = 20000 };

/* An entry as a range finds it. */
struct model_place {
    struct kx_slice entry;
    struct kx_slice position;
    struct kx_slice rest; /* of the position, after what is given */
    size_t number;        /* of the range */
};

static unsigned long long seed = 20261126;

static unsigned draw(unsigned bound)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % bound;
}

static struct kx_slice copy(void *mem, struct kx_slice slice)
{
    return kx_slice(talloc_memdup(mem, slice.data, slice.size), slice.size);
}

static struct kx_slice extend(void *mem, struct kx_slice key, uint8_t byte)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, mem);
    kx_add_slice(&buffer, key);
    kx_add_byte(&buffer, byte);
    return kx_buffer_slice(&buffer);
}

static const char *value_of(void *mem, int n)
{
    return talloc_asprintf(mem,
                           "{\"s\":\"s%u\",\"t\":%u,\"u\":%d,\"v\":\"s%d\","
                           "\"l\":[%u,%u,%u],\"m\":\"x\"}",
                           draw(4), draw(30), n / 4, n % 4, draw(6), draw(6),
                           draw(6));
}

static void declare(struct story *s, const char *name, const char *fields,
                    const char *more)
{
    const char *text = talloc_asprintf(
        s->mem, "{\"name\":\"%s\",\"prefix\":[\"e\"],\"fields\":[%s]%s}", name,
        fields, more);
    assert_int_equal(test_declare(&s->test, s->mem, text), KX_OK);
}

static const char *const INDEXES[] = {"plain",  "stored", "once",
                                      "listed", "last",   "few"};
enum { INDEX_COUNT = 6 };

/* `once` has the same value for entries of different s; `listed` and `last`
 * have an entry several times. */
static void fill(struct story *s)
{
    declare(s, "plain", "\"/s\",\"/t\"", "");
    declare(s, "stored", "\"/s\",\"/t\"", ",\"store\":{\"fields\":[\"/m\"]}");
    declare(s, "once", "\"/v\",\"/u\"", ",\"unique\":true");
    declare(s, "listed", "{\"path\":\"/l\",\"each\":true},\"/t\"", "");
    declare(s, "last", "\"/s\",{\"path\":\"/l\",\"each\":true}", "");
    declare(s, "few", "\"/t\"", ",\"where\":{\"path\":\"/s\",\"eq\":\"s1\"}");
    test_fill(&s->test, "e", 0, ENTRIES, value_of);
    for (int i = 0; i < ENTRIES; i += 7)
        test_set_until(&s->test, s->mem,
                       talloc_asprintf(s->mem, "[\"e\",%d]", i), 1);
}

static size_t given_size(struct kx_slice key)
{
    return key.size == 0 ? 0 : kx_part_size(key);
}

/* A first value of the index, and perhaps bounds of the next. */
static void draw_index_range(void *mem, const char *name, bool whole,
                             struct kx_list_range *out)
{
    struct kx_slice prefix = kx_slice(NULL, 0);
    out->index = kx_text(name);
    const char *first =
        name[0] == 'l' && name[1] == 'i' ? talloc_asprintf(mem, "[%u]", draw(6))
        : name[0] == 'f' ? talloc_asprintf(mem, "[%u]", draw(30))
                         : talloc_asprintf(mem, "[\"s%u\"]", draw(5));
    if (!whole)
        prefix = test_key(mem, first);
    out->given = given_size(prefix);
    out->range.start = prefix;
    out->range.end = whole ? kx_slice(NULL, 0) : extend(mem, prefix, 0xff);
    if (draw(3) == 0 && !whole) {
        struct kx_buffer bound;
        kx_buffer_init(&bound, mem);
        kx_add_slice(&bound, prefix);
        kx_add_slice(&bound,
                     test_key(mem, talloc_asprintf(mem, "[%u]", draw(30))));
        *(draw(2) == 0 ? &out->range.start : &out->range.end) =
            kx_buffer_slice(&bound);
    }
}

static void draw_key_range(void *mem, struct kx_list_range *out)
{
    unsigned a = draw(ENTRIES);
    out->range.start = test_key(mem, talloc_asprintf(mem, "[\"e\",%u]", a));
    out->range.end =
        test_key(mem, talloc_asprintf(mem, "[\"e\",%u]", a + 1 + draw(60)));
}

static void draw_list(void *mem, struct kx_ranges *ranges,
                      struct kx_list_range *list)
{
    unsigned kind = draw(INDEX_COUNT + 1);
    bool whole = draw(8) == 0;
    bool reverse = draw(2) == 0;
    *ranges = (struct kx_ranges){.list = list, .count = 1 + draw(RANGES)};
    ranges->merge = draw(2) == 0;
    for (size_t i = 0; i < ranges->count; i++) {
        if (!ranges->merge) {
            kind = draw(INDEX_COUNT + 1);
            reverse = draw(2) == 0;
            whole = draw(8) == 0;
        }
        list[i] = (struct kx_list_range){.given = 0};
        if (kind == INDEX_COUNT)
            draw_key_range(mem, &list[i]);
        else
            draw_index_range(mem, INDEXES[kind], whole, &list[i]);
        list[i].range.reverse = reverse;
        list[i].range.yields = true;
    }
}

/* ---- The model ---------------------------------------------------------- */

static struct model_place found[PLACES];
static bool backwards;

static int in_order(const void *left, const void *right)
{
    const struct model_place *a = left;
    const struct model_place *b = right;
    int order = kx_compare(a->rest, b->rest);
    if (order != 0)
        return backwards ? -order : order;
    return a->number < b->number ? -1 : 1;
}

static size_t scan_one(struct story *s, void *mem,
                       const struct kx_list_range *range, size_t number,
                       struct model_place *out)
{
    struct kx_reader *reader = s->test.reader;
    struct kx_entry entry;
    size_t count = 0;
    enum kx_status status =
        range->index.size > 0
            ? kx_scan_index(reader, range->index, &range->range, NULL)
            : kx_scan(reader, &range->range, NULL);
    assert_int_equal(status, KX_OK);
    while ((status = kx_scan_next(reader, &entry)) == KX_OK) {
        struct kx_slice position = copy(mem, kx_scan_position(reader));
        out[count++] =
            (struct model_place){.entry = copy(mem, entry.key),
                                 .position = position,
                                 .rest = kx_slice(position.data + range->given,
                                                  position.size - range->given),
                                 .number = number};
    }
    assert_int_equal(status, KX_END);
    kx_scan_end(reader);
    return count;
}

static size_t make_model(struct story *s, void *mem,
                         const struct kx_ranges *ranges)
{
    size_t all = 0;
    size_t count = 0;
    kx_read_begin(s->test.reader);
    for (size_t i = 0; i < ranges->count; i++)
        all += scan_one(s, mem, &ranges->list[i], i, found + all);
    kx_read_end(s->test.reader);
    backwards = ranges->list[0].range.reverse;
    if (ranges->merge)
        qsort(found, all, sizeof *found, in_order);
    for (size_t i = 0; i < all; i++) {
        size_t j = 0;
        while (j < count && !kx_equal(found[j].entry, found[i].entry))
            j++;
        if (j == count)
            found[count++] = found[i];
    }
    return count;
}

/* ---- Lists -------------------------------------------------------------- */

/* Reads the list in pages of so many entries, each in another view. */
static void compare_pages(struct story *s, void *mem, struct kx_ranges *ranges,
                          size_t expected, size_t page)
{
    struct kx_reader *reader = s->test.reader;
    struct kx_entry entry;
    enum kx_status status = KX_OK;
    size_t count = 0;
    while (status == KX_OK || status == KX_AGAIN) {
        struct kx_buffer position;
        kx_buffer_init(&position, mem);
        kx_read_begin(reader);
        assert_int_equal(kx_ranges_begin(reader, ranges, NULL), KX_OK);
        for (size_t i = 0; i < page; i++) {
            status = kx_ranges_next(reader, &entry, NULL);
            if (status == KX_AGAIN) {
                kx_buffer_clear(&position);
                kx_ranges_position(reader, &position);
            }
            if (status != KX_OK)
                break;
            assert_true(count < expected);
            assert_true(kx_equal(entry.key, found[count].entry));
            kx_buffer_clear(&position);
            kx_ranges_position(reader, &position);
            assert_int_equal(position.data[0], found[count].number);
            assert_true(kx_equal(kx_slice(position.data + 1, position.size - 1),
                                 found[count].position));
            assert_true(kx_ranges_find(ranges, kx_buffer_slice(&position)));
            count++;
        }
        kx_read_end(reader);
        if (position.size > 0)
            ranges->after = kx_buffer_slice(&position);
    }
    assert_int_equal(status, KX_END);
    assert_int_equal(count, expected);
}

TEST_WITH(lists_of_ranges_equal_a_model, begin, finish)
{
    struct story *s = *state;
    static const size_t PAGES[] = {1, 7, 100, PLACES};
    struct kx_list_range list[RANGES];
    struct kx_ranges ranges;
    size_t shown = 0;
    size_t of_several = 0;
    fill(s);
    for (unsigned i = 0; i < LISTS; i++) {
        void *mem = talloc_new(s->mem);
        draw_list(mem, &ranges, list);
        size_t count = make_model(s, mem, &ranges);
        compare_pages(s, mem, &ranges, count, PAGES[i % 4]);
        shown += count;
        for (size_t j = 1; j < count; j++)
            of_several += found[j].number < found[j - 1].number;
        talloc_free(mem);
    }
    assert_true(shown > LISTS * 20);
    assert_true(of_several > LISTS * 5);
}

/* The rows read from the ranges are bounded by the rows shown. */
TEST_WITH(merged_page_reads_little_more_than_it_shows, begin, finish)
{
    struct story *s = *state;
    struct kx_reads reads = {0};
    struct kx_entry entry;
    struct kx_list_range list[3];
    struct kx_ranges ranges = {.list = list, .count = 3, .merge = true};
    fill(s);
    for (size_t i = 0; i < 3; i++) {
        struct kx_slice prefix =
            test_key(s->mem, talloc_asprintf(s->mem, "[\"s%zu\"]", i));
        list[i] = (struct kx_list_range){
            .index = kx_text("plain"),
            .given = prefix.size,
            .range = {.start = prefix, .end = extend(s->mem, prefix, 0xff)}};
    }
    kx_reader_count(s->test.reader, &reads);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_ranges_begin(s->test.reader, &ranges, NULL), KX_OK);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(kx_ranges_next(s->test.reader, &entry, NULL), KX_OK);
    kx_read_end(s->test.reader);
    assert_in_range(reads.entries, 20, 60);
    kx_reader_count(s->test.reader, NULL);
}

TEST_WITH(ranges_report_an_index_that_is_not_ready, begin, finish)
{
    struct story *s = *state;
    struct kx_fault fault;
    struct kx_entry entry;
    struct kx_list_range list[2] = {{.index = kx_text("plain")},
                                    {.index = kx_text("none")}};
    struct kx_ranges ranges = {.list = list, .count = 2};
    fill(s);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_ranges_begin(s->test.reader, &ranges, &fault), KX_OK);
    enum kx_status status;
    while ((status = kx_ranges_next(s->test.reader, &entry, &fault)) == KX_OK)
        ;
    assert_int_equal(status, KX_INDEX_ABSENT);
    assert_int_equal(ranges.failed, 1);
    kx_read_end(s->test.reader);
    list[0].index = list[1].index;
    ranges.merge = true;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_ranges_begin(s->test.reader, &ranges, &fault),
                     KX_INDEX_ABSENT);
    kx_read_end(s->test.reader);
    assert_false(kx_ranges_find(&ranges, kx_text("")));
    assert_false(kx_ranges_find(&ranges, kx_text("\x02\x02")));
}
