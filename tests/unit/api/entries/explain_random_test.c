/* Random queries of random entries, with random indexes: whatever request
 * an explanation gives finds just what a naive walk over the entries finds, in
 * the order asked for; with conditions left, at least that; and an index that
 * is advised answers the query. */
#include "commit/store_state.h"
#include "entries/explain.h"
#include "explain_model.h"

enum { ENTRIES = 60, INDEXES = 10, QUERIES = 1500 };

struct world {
    struct story *story;
    uint64_t seed;
    struct entry entries[ENTRIES];
    const char *query; /* the present one, for messages */
};

/* Says which query and which index it was. */
static void check(const struct world *world, const struct kx_index_match *match,
                  bool good, const char *what)
{
    if (!good)
        fail_msg("%s: by index \"%.*s\": %s", world->query,
                 (int)match->index.size, (const char *)match->index.data, what);
}

static size_t below(struct world *world, size_t limit)
{
    return random_below(&world->seed, limit);
}

/* ---- The store ---------------------------------------------------------- */

static void random_entry(struct world *world, size_t key)
{
    struct entry *entry = &world->entries[key];
    char *name = talloc_asprintf(world->story->mem, "[\"e\",%zu]", key);
    char *value = talloc_strdup(world->story->mem, "{");
    entry->element_count = below(world, 4);
    for (int i = 0; i < 2; i++) {
        entry->member[i] =
            below(world, 6) == 0 ? NONE : (int)below(world, COUNT);
        if (entry->member[i] != NONE)
            value = talloc_asprintf_append(value, "\"%c\":%s,", 'a' + i,
                                           VALUES[entry->member[i]].text);
    }
    value = talloc_asprintf_append(value, "\"t\":[");
    for (size_t i = 0; i < entry->element_count; i++) {
        entry->elements[i] = (int)below(world, PLAIN);
        value = talloc_asprintf_append(value, "%s%s", i > 0 ? "," : "",
                                       VALUES[entry->elements[i]].text);
    }
    value = talloc_asprintf_append(value, "]}");
    assert_int_equal(
        test_set(&world->story->test, world->story->mem, name, value), KX_OK);
}

static bool random_index(struct world *world, size_t number)
{
    struct kx_buffer text;
    struct place first = random_place(&world->seed);
    struct place second = random_place(&world->seed);
    first.descending = below(world, 3) == 0;
    second.descending = below(world, 3) == 0;
    kx_buffer_init(&text, world->story->mem);
    char *name =
        talloc_asprintf(world->story->mem, "{\"name\":\"i%zu\",", number);
    kx_add_text(&text, name);
    kx_add_text(&text, "\"prefix\":[\"e\"],\"fields\":[");
    write_place(&first, &text);
    if (below(world, 2) == 0) {
        kx_add_text(&text, "},");
        write_place(&second, &text);
    }
    kx_add_text(&text, below(world, 2) == 0 ? "}],\"store\":\"value\""
                                            : "}],\"store\":\"pointer\"");
    if (below(world, 4) == 0)
        kx_add_text(&text, ",\"missing\":\"null\"");
    struct query_condition own = random_wanted(&world->seed);
    own.place.folded = false;
    if (below(world, 3) == 0 && own.place.member < 2) {
        kx_add_text(&text, ",\"where\":");
        write_wanted(&own, &text);
    }
    kx_add_text(&text, "}");
    kx_add_byte(&text, '\0');
    return test_declare(&world->story->test, world->story->mem,
                        (const char *)text.data) == KX_OK;
}

/* Waits until no index is being built and the rows of dropped indexes, which
 * an estimate would count, are freed. */
static void wait_settled(struct test_store *test)
{
    struct kx_index_info info;
    bool building = true;
    while (building) {
        kx_read_begin(test->reader);
        building = test->store->catalog->dropping_count > 0;
        for (size_t n = 0; kx_index_at(test->reader, n, &info) == KX_OK; n++)
            building |= info.state == KX_INDEX_BUILDING;
        kx_read_end(test->reader);
        usleep(building ? 1000 : 0);
    }
}

/* ---- The queries -------------------------------------------------------- */

static enum kx_status begin_scan(struct kx_reader *reader,
                                 const struct kx_list_range *range)
{
    if (range->index.size > 0)
        return kx_scan_index(reader, range->index, &range->range, NULL);
    return kx_scan(reader, &range->range, NULL);
}

static enum kx_status next_entry(struct kx_reader *reader, bool several,
                                 struct kx_entry *entry)
{
    return several ? kx_ranges_next(reader, entry, NULL)
                   : kx_scan_next(reader, entry);
}

/* The ranges that a query asks for. */
struct asked_ranges {
    struct kx_ranges ranges;
    struct kx_list_range list[KX_RANGES_MAX];
};

static void make_ranges(struct request *request,
                        const struct kx_index_match *match,
                        struct asked_ranges *out)
{
    size_t count = match->value_count == 0 ? 1 : match->value_count;
    out->ranges = (struct kx_ranges){
        .list = out->list, .count = count, .merge = match->merge};
    for (size_t i = 0; i < count; i++) {
        struct selection *selection = talloc(request->memory, struct selection);
        struct selector selector;
        assert_true(
            explain_request_select(match, i, request, selection, &selector));
        out->list[i] = (struct kx_list_range){.index = selector.index,
                                              .range = selector.range};
        if (match->merge)
            out->list[i].given = selection->prefix.size;
    }
}

/* Follows a match, and marks what comes; `exactly`: nothing else may come, and
 * it must come in order. */
static size_t follow(struct world *world, const struct query *query,
                     const struct kx_index_match *match, bool exactly)
{
    struct kx_reader *reader = world->story->test.reader;
    struct request request = {.reader = reader, .memory = world->story->mem};
    struct asked_ranges asked;
    struct kx_estimate estimate;
    struct kx_entry entry;
    bool seen[ENTRIES] = {false};
    size_t last = ENTRIES;
    size_t rows = 0;
    bool several = match->value_count > 0;
    assert_true(explain_request_estimate(match, &request, &estimate));
    make_ranges(&request, match, &asked);
    kx_read_begin(reader);
    if (several)
        assert_int_equal(kx_ranges_begin(reader, &asked.ranges, NULL), KX_OK);
    else
        assert_int_equal(begin_scan(reader, &asked.list[0]), KX_OK);
    for (; next_entry(reader, several, &entry) == KX_OK; rows++) {
        struct kx_key_reader key;
        struct kx_part part;
        kx_key_read(&key, entry.key);
        kx_key_next(&key, &part);
        assert_int_equal(kx_key_next(&key, &part), KX_OK);
        size_t n = (size_t)part.number;
        if (exactly) {
            check(world, match, !seen[n], "an entry came twice");
            check(world, match, is_wanted(query, &world->entries[n], n),
                  "an entry came that was not asked for");
            check(world, match,
                  last == ENTRIES ||
                      compare_entries(world->entries, query, last, n) <= 0,
                  "the order is another");
        }
        seen[n] = true;
        last = n;
    }
    kx_read_end(reader);
    check(world, match,
          estimate.exact &&
              (several ? estimate.rows >= rows : estimate.rows == rows),
          "the number of rows is another");
    for (size_t n = 0; n < ENTRIES; n++)
        check(world, match, seen[n] || !is_wanted(query, &world->entries[n], n),
              "an entry is missing");
    return rows;
}

/* How often something was tried. */
struct try_count {
    size_t answered;
    size_t merged;
    size_t in_turn;
    size_t filtered;
    size_t by_entries;
    size_t advised;
};

static void try_match(struct world *world, const struct query *query,
                      const struct kx_index_match *match,
                      struct try_count *tally)
{
    if (match->mismatches == 0) {
        follow(world, query, match, true);
        tally->answered++;
        tally->merged += match->merge;
        tally->in_turn += match->value_count > 0 && !match->merge;
    } else if (match->mismatches == 1u << KX_MISMATCH_CONDITIONS) {
        follow(world, query, match, false);
        tally->filtered++;
    }
}

/* The advised index is declared, must answer, and is dropped. */
static void try_advice(struct world *world, const struct query *query,
                       struct kx_query *asked, struct try_count *tally)
{
    struct test_store *test = &world->story->test;
    struct kx_buffer advice;
    struct kx_slice name;
    struct kx_index_match match;
    kx_buffer_init(&advice, world->story->mem);
    kx_read_begin(test->reader);
    enum kx_status status = kx_advise(test->reader, asked, true, &advice);
    kx_read_end(test->reader);
    if (status == KX_ABSENT)
        return;
    kx_add_byte(&advice, '\0'); /* nothing is added after it: it stays here */
    kx_json_find(kx_buffer_slice(&advice), kx_text("/name"), &name);
    name = kx_slice(name.data + 1, name.size - 2);
    assert_int_equal(
        test_declare(test, world->story->mem, (const char *)advice.data),
        KX_OK);
    wait_settled(test);
    bool found = false;
    for (size_t n = 0; !found; n++) {
        kx_read_begin(test->reader);
        status = kx_index_match_at(test->reader, asked, n, &match, NULL);
        kx_read_end(test->reader);
        assert_int_equal(status, KX_OK);
        found = kx_equal(match.index, name);
    }
    assert_int_equal(match.mismatches, 0);
    follow(world, query, &match, true);
    struct kx_commit drop = {.command.kind = KX_DROP_INDEX,
                             .command.index_name = name,
                             .memory = world->story->mem};
    assert_int_equal(test_commit(test, &drop), KX_OK);
    tally->advised++;
}

static void try_query(struct world *world, bool advice, struct try_count *tally)
{
    struct kx_reader *reader = world->story->test.reader;
    struct query query = random_query(&world->seed);
    struct kx_query *asked = NULL;
    struct kx_buffer text;
    struct kx_fault fault;
    struct kx_index_match match;
    kx_buffer_init(&text, world->story->mem);
    write_query(&query, &text);
    world->query =
        talloc_strndup(world->story->mem, (const char *)text.data, text.size);
    enum kx_status status = kx_query_read(
        world->story->mem, kx_buffer_slice(&text), &asked, &fault);
    if (status != KX_OK)
        fail_msg("%s: %s", world->query, fault.detail);
    kx_index_match_entries(asked, &match);
    tally->by_entries += match.mismatches == 0;
    try_match(world, &query, &match, tally);
    for (size_t n = 0; status == KX_OK; n++) {
        kx_read_begin(reader);
        status = kx_index_match_at(reader, asked, n, &match, NULL);
        kx_read_end(reader);
        if (status == KX_OK)
            try_match(world, &query, &match, tally);
    }
    if (advice)
        try_advice(world, &query, asked, tally);
}

TEST_WITH(explained_requests_return_entries_of_the_query, begin, finish)
{
    struct world world = {.story = *state,
                          .seed = random_seed("explain_random_test")};
    struct try_count tally = {0};
    for (int round = 0; round < 4; round++) {
        for (size_t key = 0; key < ENTRIES; key++)
            random_entry(&world, key);
        for (size_t i = 0; i < INDEXES; i++)
            random_index(&world, (size_t)round * INDEXES + i);
        wait_settled(&world.story->test);
        for (int i = 0; i < QUERIES / 4; i++)
            try_query(&world, i % 10 == 0, &tally);
    }
    print_message("answered %zu (%zu merged, %zu in turn), filtered %zu, "
                  "entries %zu, advised %zu\n",
                  tally.answered, tally.merged, tally.in_turn, tally.filtered,
                  tally.by_entries, tally.advised);
    assert_true(tally.answered > 500);
    assert_true(tally.filtered > 200);
    assert_true(tally.by_entries > 20);
    assert_true(tally.advised > 50);
    assert_true(tally.merged + tally.in_turn > 0);
}
