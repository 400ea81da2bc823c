/* A sequence of commits, declarations, restarts and reads, compared with a
 * model (tests/lib/index_run.h). Each step is three bytes: its kind, and a seed
 * for its random choices. The store stays open, and is emptied after each
 * input. */
#include "fuzz.h"
#include "index_run.h"

enum { STEPS_MAX = 64, WAIT_US = 200, WAITS_MAX = 100000 };

static struct run run;

static void leave(void)
{
    kx_clock_set(0);
    test_store_remove(&run.test);
}

static void open_store(void)
{
    if (run.test.store != NULL)
        return;
    kx_log_level(KX_LOG_ERROR);
    run.data.now = 1000000;
    kx_clock_set(run.data.now);
    test_store_new(&run.test);
    atexit(leave);
}

/* ---- Steps --------------------------------------------------------------- */

static void await_build(const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    for (int i = 0; i < WAITS_MAX && info.state == KX_INDEX_BUILDING; i++) {
        assert_int_equal(test_index(&run.test, name, &info), KX_OK);
        if (info.state == KX_INDEX_BUILDING)
            usleep(WAIT_US);
    }
    assert_int_equal(info.state, KX_INDEX_READY);
}

static void drop(size_t i)
{
    assert_int_equal(test_drop(&run.test, run.data.mem, run.shapes[i].name),
                     KX_OK);
    run.declared[i] = false;
}

/* Declares an index that the entries allow; drops a declared one. */
static void declare_or_drop(void)
{
    size_t i = random_below(&run.data.seed, SHAPES);
    if (run.declared[i]) {
        drop(i);
        return;
    }
    index_run_shape(&run, i);
    if (!index_run_allows(&run, i))
        return;
    const char *declaration = shape_json(run.data.mem, &run.shapes[i]);
    assert_int_equal(test_declare(&run.test, run.data.mem, declaration), KX_OK);
    run.declared[i] = true;
    await_build(run.shapes[i].name);
}

static void restart(void)
{
    test_store_close(&run.test);
    test_store_open(&run.test);
}

/* Each entry that is alive comes once, in order and with its stamp. */
static void list_entries(bool reverse)
{
    struct kx_range range = {.start = test_key(run.data.mem, "[\"p\",0]"),
                             .end = test_key(run.data.mem, "[\"p\",1000]"),
                             .reverse = reverse};
    struct kx_entry entry;
    kx_read_begin(run.test.reader);
    assert_int_equal(kx_scan(run.test.reader, &range, NULL), KX_OK);
    for (size_t i = 0; i < SLOTS; i++) {
        size_t n = reverse ? SLOTS - 1 - i : i;
        const struct model_entry *slot = &run.data.slots[n];
        if (!alive(&run.data, slot))
            continue;
        assert_int_equal(kx_scan_next(run.test.reader, &entry), KX_OK);
        assert_true(kx_equal(entry.key, slot_key(run.data.mem, n)));
        assert_int_equal(entry.stamp, slot->stamp);
        assert_int_equal(entry.expires_at_ms, slot->expires_at_ms);
    }
    assert_int_equal(kx_scan_next(run.test.reader, &entry), KX_END);
    kx_read_end(run.test.reader);
}

static void read_entry(size_t n)
{
    const struct model_entry *slot = &run.data.slots[n];
    struct kx_slice key = slot_key(run.data.mem, n);
    struct kx_entry entry;
    struct kx_buffer record;
    kx_buffer_init(&record, run.data.mem);
    kx_read_begin(run.test.reader);
    enum kx_status status =
        kx_read(run.test.reader, key, &record, &entry, NULL);
    kx_read_end(run.test.reader);
    assert_int_equal(status, alive(&run.data, slot) ? KX_OK : KX_ABSENT);
    if (status == KX_OK)
        assert_int_equal(entry.stamp, slot->stamp);
}

static void compare(void)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (run.declared[i])
            index_run_compare(&run, &run.shapes[i]);
    if (run.wrong[0] != '\0')
        fail_msg("%s", run.wrong);
}

static void step(uint8_t kind)
{
    if (kind == 0)
        restart(); /* slow, so it is rare */
    else if (kind % 8 == 1)
        declare_or_drop();
    else if (kind % 16 == 2)
        kx_clock_set(run.data.now +=
                     (int64_t)random_below(&run.data.seed, LIFE_MAX));
    else if (kind % 16 == 3)
        list_entries(random_below(&run.data.seed, 2) == 0);
    else if (kind % 16 == 4)
        read_entry(random_below(&run.data.seed, SLOTS));
    else if (kind % 16 == 5)
        compare();
    else
        index_run_commit(&run);
}

/* ---- Inputs -------------------------------------------------------------- */

static void empty_store(void)
{
    struct kx_mutation all = {.type = KX_DELETE_RANGE,
                              .key = kx_slice("\x01", 1),
                              .end = kx_slice("\xff", 1),
                              .limit = KX_PAGE_MAX};
    struct kx_commit clear = {
        .mutations = &all, .mutation_count = 1, .memory = run.data.mem};
    for (size_t i = 0; i < SHAPES; i++)
        if (run.declared[i])
            drop(i);
    assert_int_equal(test_commit(&run.test, &clear), KX_OK);
    memset(run.data.slots, 0, sizeof run.data.slots);
}

void fuzz(struct kx_slice input, void *memory)
{
    open_store();
    run.data.mem = memory;
    run.wrong[0] = '\0';
    for (int i = 0; i < STEPS_MAX && input.size > 0; i++) {
        uint8_t kind = fuzz_byte(&input);
        run.data.seed = fuzz_byte(&input);
        run.data.seed = run.data.seed << 8 | fuzz_byte(&input);
        talloc_free_children(memory);
        step(kind);
    }
    list_entries(false);
    compare();
    empty_store();
}
