/* Random declarations of every form, random writes to the entries they cover:
 * after each commit, expiry and restart the entries of each index are those
 * that a model computes from the data (index_model.h), the commit ends as the
 * model predicts, and at last each index built again from the data has the same
 * entries. Then the same with mistakes in the model, and with damage in the
 * store, each of which must be seen. KX_TEST_SEED=n replays a run.
 */
#include "index_run.h"

#include "commit/store_state.h"

enum { STORES = 12, COMMITS = 300, MUTATIONS = 4, CHECKS = 3 };

/* ---- Commits ------------------------------------------------------------ */

static bool refuses(struct run *run, const struct index_shape *shape)
{
    bool any = false;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        bool bad = false;
        if (alive(&run->data, &run->data.slots[slot]))
            index_values(run->data.mem, shape, &run->data.slots[slot].document,
                         slot, FLAW_NONE, &bad);
        any |= bad;
    }
    return shape->error && any;
}

static bool has_duplicates(struct run *run, const struct index_shape *shape)
{
    struct kx_slice seen[SLOTS * ELEMENTS];
    size_t count = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        bool bad;
        if (!alive(&run->data, &run->data.slots[slot]))
            continue;
        struct values values =
            index_values(run->data.mem, shape, &run->data.slots[slot].document,
                         slot, FLAW_NONE, &bad);
        for (size_t n = 0; n < values.count; n++) {
            seen[count] = kx_buffer_slice(&values.list[n]);
            for (size_t m = 0; m < count; m++)
                if (kx_equal(seen[m], seen[count]))
                    return shape->unique;
            count++;
        }
    }
    return false;
}

/* A commit with what the model knows about it beforehand. */
struct planned {
    struct kx_mutation mutations[MUTATIONS];
    struct kx_check checks[CHECKS];
    bool fails[CHECKS];
    bool patchable;
    struct kx_commit commit;
};

/* Are those checks told that do not hold? */
static bool tells_failed(const struct planned *planned)
{
    const struct kx_refusal *refusal = &planned->commit.refusal;
    size_t count = 0;
    for (size_t i = 0; i < planned->commit.check_count; i++) {
        if (!planned->fails[i])
            continue;
        if (count == refusal->check_count || refusal->checks[count].check != i)
            return false;
        count++;
    }
    return count == refusal->check_count;
}

/* Is that how the commit must end? */
static bool foretold(struct run *run, const struct planned *planned,
                     enum kx_status status)
{
    bool refused = false;
    bool duplicate = false;
    bool fails = false;
    for (size_t i = 0; i < planned->commit.check_count; i++)
        fails |= planned->fails[i];
    if (fails || status == KX_CHECK_FAILED)
        return fails && status == KX_CHECK_FAILED && tells_failed(planned);
    if (!planned->patchable || status == KX_TYPE_MISMATCH)
        return !planned->patchable && status == KX_TYPE_MISMATCH;
    for (size_t i = 0; i < SHAPES; i++) {
        refused |= run->flaw != FLAW_ERROR && refuses(run, &run->shapes[i]);
        duplicate |=
            run->flaw != FLAW_UNIQUE && has_duplicates(run, &run->shapes[i]);
    }
    if (status == KX_NOT_INDEXABLE)
        return refused;
    if (status == KX_UNIQUE_VIOLATION)
        return duplicate;
    return status == KX_OK && !refused && !duplicate;
}

static void plan_checks(struct run *run, struct planned *planned)
{
    if (random_below(&run->data.seed, 3) > 0)
        return;
    planned->commit.check_count = 1 + random_below(&run->data.seed, CHECKS);
    for (size_t i = 0; i < planned->commit.check_count; i++) {
        bool holds;
        planned->checks[i] = random_check(&run->data, &holds);
        planned->fails[i] = !holds && run->flaw != FLAW_CHECK;
    }
}

static void plan_mutations(struct run *run, struct planned *planned)
{
    struct kx_commit *commit = &planned->commit;
    commit->mutation_count = 1;
    switch (random_below(&run->data.seed, 20)) {
    case 0:
        planned->mutations[0] = random_range(&run->data);
        break;
    case 1:
        planned->mutations[0] =
            random_range_patch(&run->data, &planned->patchable);
        break;
    default:
        commit->mutation_count = 1 + random_below(&run->data.seed, MUTATIONS);
        for (size_t i = 0; i < commit->mutation_count; i++)
            planned->mutations[i] = random_mutation(&run->data);
    }
}

static void run_commit(struct run *run)
{
    struct planned planned = {.patchable = true};
    planned.commit = (struct kx_commit){.checks = planned.checks,
                                        .mutations = planned.mutations,
                                        .memory = run->data.mem};
    memcpy(run->data.before, run->data.slots, sizeof run->data.slots);
    plan_checks(run, &planned);
    plan_mutations(run, &planned);
    run->test.store->writer.pessimistic =
        0; /* values are assumed to be new each time */
    enum kx_status status = test_commit(&run->test, &planned.commit);
    if (!foretold(run, &planned, status) && run->wrong[0] == '\0')
        snprintf(run->wrong, sizeof run->wrong, "a commit ended with %s: %s",
                 kx_status_name(status), planned.commit.refusal.fault.detail);
    if (status == KX_OK)
        keep_changes(&run->data, planned.commit.stamp);
    else
        memcpy(run->data.slots, run->data.before, sizeof run->data.slots);
}

/* ---- Runs --------------------------------------------------------------- */

/* Makes it an index of totals. */
static void count_entries(struct index_shape *shape, bool sum)
{
    shape->aggregate = true;
    shape->sum = sum;
    shape->unique = false;
    if (shape->fields[shape->field_count - 1] == FROM_STAMP)
        shape->field_count--;
}

static void begin_run(struct run *run, uint64_t seed, enum model_flaw flaw)
{
    *run = (struct run){.data = {.seed = seed, .now = 1000000, .flaw = flaw},
                        .flaw = flaw};
    run->data.mem = talloc_new(NULL);
    kx_clock_set(run->data.now);
    test_store_new(&run->test);
    for (size_t i = 0; i < SHAPES; i++) {
        run->shapes[i] = random_shape(&run->data.seed, i);
        if (i % 3 == 2)
            count_entries(&run->shapes[i], i > 2);
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
        run_commit(run);
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
