/* Reads, explanations and watches whose allocations fail. */
#include "alloc_world.h"

static enum kx_status walk(struct kx_reader *reader, enum kx_status begun,
                           size_t expected)
{
    struct kx_entry entry;
    size_t count = 0;
    while (begun == KX_OK && (begun = kx_scan_next(reader, &entry)) == KX_OK) {
        kx_scan_position(reader);
        count++;
    }
    if (begun == KX_END && count != expected)
        wrong("%zu entries instead of %zu", count, expected);
    return begun == KX_END ? KX_OK : begun;
}

static enum kx_status read_all(struct world *world, struct kx_reader *reader)
{
    struct kx_buffer record, fold;
    struct kx_entry entry;
    struct kx_fault fault;
    struct kx_estimate estimate = {.most = KX_PAGE_MAX};
    uint64_t bytes;
    kx_buffer_init(&record, world->mem);
    kx_buffer_init(&fold, world->mem);
    struct kx_slice parts = key_of(world, "[\"A@x\"]");
    struct kx_slice fields[] = {kx_text("/n"), kx_text("/e")};
    struct kx_lookup lookup = {.index = kx_text("by_e"), .value = parts};
    struct kx_range range = {.start = kx_slice("\x02u", 2),
                             .end = kx_slice("\x02v", 2)};
    enum kx_status status =
        kx_read(reader, key_of(world, "[\"u\",1]"), &record, &entry, &fault);
    if (status == KX_OK)
        status = walk(reader, kx_scan(reader, &range, &fault), 3);
    range.reverse = true;
    range.fields = fields;
    range.field_count = 2;
    if (status == KX_OK)
        status = walk(reader, kx_scan(reader, &range, &fault), 3);
    range = (struct kx_range){.reverse = false};
    if (status == KX_OK)
        status = walk(
            reader, kx_scan_index(reader, kx_text("by_t"), &range, &fault), 3);
    if (status == KX_OK)
        status = kx_index_fold(reader, lookup.index, parts, &fold);
    if (status == KX_OK)
        status = kx_index_get(reader, &lookup, &entry, &fault);
    if (status == KX_OK)
        status = kx_index_bytes(reader, lookup.index, &bytes);
    if (status == KX_OK)
        status =
            kx_estimate(reader, kx_text("by_t"), &range, &estimate, &fault);
    return status;
}

static enum kx_status run_read(struct world *world)
{
    struct kx_reader *reader;
    enum kx_status status = kx_reader_open(world->test.store, &reader);
    if (status != KX_OK)
        return status;
    kx_read_begin(reader);
    status = read_all(world, reader);
    kx_read_end(reader);
    kx_reader_close(reader);
    return status;
}

static enum kx_status match_all(struct world *world, struct kx_query *query)
{
    struct kx_index_match match;
    struct kx_buffer out;
    kx_buffer_init(&out, world->mem);
    enum kx_status status = kx_index_match_entries(query, &match);
    for (size_t n = 0; status == KX_OK; n++)
        status = kx_index_match_at(world->test.reader, query, n, &match, NULL);
    if (status != KX_END)
        return status;
    status = kx_advise(world->test.reader, query, true, &out);
    return status == KX_ABSENT ? KX_OK : status;
}

static enum kx_status run_explain(struct world *world)
{
    struct kx_query *query;
    struct kx_fault fault;
    enum kx_status status = kx_query_read(
        world->mem,
        kx_text("{\"prefix\":[\"u\"],\"where\":[{\"path\":\"/e\",\"eq\":"
                "\"A\"},{\"path\":\"/n\",\"gt\":1}],\"order\":[\"/n\"],"
                "\"fields\":[\"/e\"]}"),
        &query, &fault);
    if (status != KX_OK)
        return status;
    kx_read_begin(world->test.reader);
    status = match_all(world, query);
    kx_read_end(world->test.reader);
    return status;
}

/* The watch must be told, even if allocations fail meanwhile. */
static enum kx_status run_watch(struct world *world)
{
    struct kx_slice keys[] = {key_of(world, "[\"n\",1]"),
                              key_of(world, "[\"u\",1]")};
    struct kx_watch *watch;
    bool told = false;
    struct kx_ticket ticket = {.owner = &told};
    enum kx_status status =
        kx_watch_open(world->test.store, keys, 2, world->mem, &watch);
    if (status != KX_OK)
        return status;
    if (kx_watch_wait(watch, &ticket) != KX_OK)
        wrong("a new watch is told");
    struct kx_mutation one = put(world, "[\"n\",1]", "5");
    status = commit(world, &one, 1);
    if (status == KX_OK)
        test_wait(&world->test, &told);
    else if (!kx_watch_cancel(world->test.store, &ticket))
        test_wait(&world->test, &told);
    kx_watch_close(watch);
    return status;
}

/* Told as well, and of each key that has changed, or that all may have. */
static enum kx_status run_prefix_watch(struct world *world)
{
    struct kx_slice keys[KX_WATCH_CHANGES_MAX];
    struct kx_buffer bytes;
    struct kx_watch *watch;
    size_t count;
    bool told = false;
    struct kx_ticket ticket = {.owner = &told};
    enum kx_status status =
        kx_watch_open_prefix(world->test.store, key_of(world, "[\"n\"]"),
                             KX_WATCH_KEYS, world->mem, &watch);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&bytes, world->mem);
    struct kx_mutation one = put(world, "[\"n\",1]", "5");
    status = commit(world, &one, 1);
    enum kx_status waits = kx_watch_wait(watch, &ticket);
    if (waits != (status == KX_OK ? KX_END : KX_OK))
        wrong("a change is told that was none, or not told");
    if (kx_watch_take(watch, keys, &count, &bytes) &&
        count != (status == KX_OK))
        wrong("a key is missing, or is too many");
    kx_watch_close(watch);
    return status;
}

static void undo_watch(struct world *world)
{
    done(test_set(&world->test, world->mem, "[\"n\",1]", "1"), "undoing");
}

static const struct operation OPERATIONS[] = {
    {"read", furnish, run_read, NULL},
    {"explain", furnish, run_explain, NULL},
    {"watch", furnish, run_watch, undo_watch},
    {"watch of a prefix", furnish, run_prefix_watch, undo_watch},
};

const struct operations ALLOC_READS = {
    OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS, 1};
