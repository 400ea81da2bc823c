/* Random declarations of every form, random writes to the entries they cover:
 * after each commit, expiry and restart the entries of each index are those
 * that a model computes from the data (index_model.h), the commit ends as the
 * model predicts, and at last each index built again from the data has the same
 * entries. Then the same with mistakes in the model, and with damage in the
 * store, each of which must be seen. KX_TEST_SEED=n replays a run.
 */
#include "index_run.h"

enum { STORES = 12, COMMITS = 300 };

/* ---- Runs --------------------------------------------------------------- */

static void begin_run(struct run *run, uint64_t seed, enum model_flaw flaw)
{
    *run = (struct run){.data = {.seed = seed, .now = 1000000, .flaw = flaw},
                        .flaw = flaw};
    run->data.mem = talloc_new(NULL);
    kx_clock_set(run->data.now);
    test_store_new(&run->test);
    for (size_t i = 0; i < SHAPES; i++) {
        index_run_shape(run, i);
        run->declared[i] = true;
        assert_int_equal(
            test_declare(&run->test, run->data.mem,
                         shape_json(run->data.mem, &run->shapes[i])),
            KX_OK);
    }
}

static void end_run(struct run *run)
{
    talloc_free(run->data.mem);
    kx_clock_set(0);
    test_store_remove(&run->test);
}

static void compare_all(struct run *run)
{
    for (size_t i = 0; i < SHAPES; i++)
        index_run_compare(run, &run->shapes[i]);
}

/* Stops at the first thing that is wrong. */
static void write_and_compare(struct run *run, int commits)
{
    for (int i = 0; i < commits && run->wrong[0] == '\0'; i++) {
        kx_clock_set(run->data.now +=
                     (int64_t)random_below(&run->data.seed, 4));
        talloc_free_children(run->data.mem);
        index_run_commit(run);
        compare_all(run);
        if (random_below(&run->data.seed, 100) == 0) {
            test_store_close(&run->test);
            test_store_open(&run->test);
        }
    }
}

static void wait_ready(struct run *run, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING) {
        kx_read_begin(run->test.reader);
        kx_index_find(run->test.reader, kx_text(name), &info);
        kx_read_end(run->test.reader);
        usleep(500);
    }
    assert_int_equal(info.state, KX_INDEX_READY);
}

/* Declares each index again under another name. */
static void build_and_compare(struct run *run)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct index_shape again = run->shapes[i];
        snprintf(again.name, sizeof again.name, "again%zu", i);
        assert_int_equal(test_declare(&run->test, run->data.mem,
                                      shape_json(run->data.mem, &again)),
                         KX_OK);
        wait_ready(run, again.name);
        index_run_compare(run, &again);
    }
}

TEST(indexes_equal_a_rebuild_after_every_commit)
{
    uint64_t seed = random_seed("index_random_test");
    struct run *run = talloc(NULL, struct run);
    for (int i = 0; i < STORES; i++) {
        begin_run(run, random_next(&seed), FLAW_NONE);
        write_and_compare(run, COMMITS);
        build_and_compare(run);
        if (run->wrong[0] != '\0')
            fail_msg("store %d: %s", i, run->wrong);
        end_run(run);
    }
    talloc_free(run);
}

TEST(comparison_detects_every_planted_mistake)
{
    uint64_t seed = random_seed("index_random_test");
    struct run *run = talloc(NULL, struct run);
    for (enum model_flaw flaw = FLAW_NONE + 1; flaw < FLAWS; flaw++) {
        bool seen = false;
        for (int i = 0; i < STORES && !seen; i++) {
            begin_run(run, random_next(&seed), flaw);
            write_and_compare(run, COMMITS);
            seen = run->wrong[0] != '\0';
            end_run(run);
        }
        if (!seen)
            fail_msg("mistake %d was not seen", (int)flaw);
    }
    talloc_free(run);
}

TEST(comparison_detects_a_lost_row)
{
    uint64_t seed = random_seed("index_random_test");
    struct run *run = talloc(NULL, struct run);
    size_t lost = 0;
    begin_run(run, seed, FLAW_NONE);
    write_and_compare(run, COMMITS);
    assert_string_equal(run->wrong, "");
    for (size_t i = 0; i < SHAPES; i++) {
        run->wrong[0] = '\0';
        if (!test_lose_row(&run->test, run->data.mem, run->shapes[i].name))
            continue;
        lost++;
        index_run_compare(run, &run->shapes[i]);
        assert_string_not_equal(run->wrong, "");
    }
    assert_true(lost > 0);
    end_run(run);
    talloc_free(run);
}
