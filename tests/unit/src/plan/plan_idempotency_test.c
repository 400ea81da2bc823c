/* Commits that come again under a key, on a real store. */
#include "store.h"

#include "bdb/table.h"
#include "catalog/idempotency_rows.h"
#include "plan/outcome.h"

enum { KEPT_MS = 60000 };

#define BY_EMAIL                                                               \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"   \
    "\"unique\":true}"

/* Returns the idempotency of a request with this key. */
static struct kx_idempotency *idempotency_of(void *mem, const char *key,
                                             uint8_t digest)
{
    struct kx_idempotency *idempotency =
        talloc_zero(mem, struct kx_idempotency);
    idempotency->key = kx_text(key);
    memset(idempotency->digest, digest, sizeof idempotency->digest);
    idempotency->until_ms = kx_now_ms() + KEPT_MS;
    return idempotency;
}

/* Adds 1 to the entry "n" under the key. */
static enum kx_status add_one(struct story *s, const char *key, uint8_t digest,
                              struct kx_commit *commit)
{
    struct kx_mutation *sum = talloc_zero(s->mem, struct kx_mutation);
    sum->type = KX_SUM;
    sum->key = test_key(s->mem, "[\"n\"]");
    sum->value = test_json("1");
    sum->returns = KX_RETURN_NEW;
    *commit =
        (struct kx_commit){.mutations = sum,
                           .mutation_count = 1,
                           .memory = s->mem,
                           .idempotency = idempotency_of(s->mem, key, digest)};
    return test_commit(&s->test, commit);
}

TEST_WITH(commit_sent_again_under_its_key_is_applied_once, begin, finish)
{
    struct story *s = *state;
    struct kx_commit first;
    struct kx_commit second;
    assert_int_equal(add_one(s, "k", 1, &first), KX_OK);
    assert_false(first.idempotency->replayed);
    assert_int_equal(add_one(s, "k", 1, &second), KX_OK);
    assert_true(second.idempotency->replayed);
    assert_string_equal(test_get(&s->test, s->mem, "[\"n\"]"), "1");
    assert_true(second.stamp == first.stamp && first.stamp != 0);
    assert_int_equal(second.created, first.created);
    assert_true(second.results != NULL && second.results[0].present);
    assert_true(kx_equal(second.results[0].entry.value.data, kx_text("1")));
    assert_true(second.results[0].entry.stamp == first.stamp);
    /* Under another key it is another commit. */
    assert_int_equal(add_one(s, "k2", 1, &second), KX_OK);
    assert_false(second.idempotency->replayed);
    assert_string_equal(test_get(&s->test, s->mem, "[\"n\"]"), "2");
}

/* The test sets the clock to the expiry. */
TEST_WITH(stored_outcome_expires, begin, finish)
{
    struct story *s = *state;
    struct kx_commit first;
    struct kx_commit second;
    int64_t now_ms = kx_now_ms();
    kx_clock_set(now_ms);
    assert_int_equal(add_one(s, "k", 1, &first), KX_OK);
    assert_int_equal(add_one(s, "other", 1, &first), KX_OK);
    kx_clock_set(now_ms + KEPT_MS);
    assert_int_equal(add_one(s, "k", 2, &second), KX_OK);
    assert_false(second.idempotency->replayed);
    /* The new outcome outlives the time of the old one. */
    test_store_close(&s->test);
    test_store_open(&s->test);
    kx_clock_set(now_ms + KEPT_MS + 1);
    assert_int_equal(add_one(s, "k", 2, &second), KX_OK);
    assert_true(second.idempotency->replayed);
    assert_string_equal(test_get(&s->test, s->mem, "[\"n\"]"), "3");
}

/* Is the row of the outcome under this key in the table? The store is closed
 * meanwhile. */
static bool is_stored(struct story *s, const char *key)
{
    struct kx_buffer row_key;
    struct kx_buffer row;
    void *mem = talloc_new(s->mem);
    kx_buffer_init(&row_key, mem);
    kx_buffer_init(&row, mem);
    idempotency_row_key(kx_text(key), &row_key);
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, mem);
    enum kx_status status =
        table_get(env, TABLE_CATALOG, kx_buffer_slice(&row_key), &row);
    env_close(env);
    talloc_free(mem);
    test_store_open(&s->test);
    assert_true(status == KX_OK || status == KX_ABSENT);
    return status == KX_OK;
}

/* More than one job takes. */
TEST_WITH(expired_outcome_rows_are_removed, begin, finish)
{
    struct story *s = *state;
    enum { KEYS = 300 };
    struct kx_commit commit;
    int64_t now_ms = kx_now_ms();
    kx_clock_set(now_ms);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(
            add_one(s, talloc_asprintf(s->mem, "k%d", i), 1, &commit), KX_OK);
    assert_true(is_stored(s, "k0"));
    kx_clock_set(now_ms + KEPT_MS - 1);
    assert_int_equal(add_one(s, "late", 1, &commit), KX_OK);
    kx_clock_set(now_ms + KEPT_MS);
    for (int i = 0; i < KEYS; i += 50)
        while (is_stored(s, talloc_asprintf(s->mem, "k%d", i)))
            usleep(1000);
    assert_true(is_stored(s, "late"));
    assert_int_equal(add_one(s, "late", 1, &commit), KX_OK);
    assert_true(commit.idempotency->replayed);
}

/* ---- Refusals ----------------------------------------------------------- */

static enum kx_status set_user(struct story *s, const char *key,
                               const char *sent_under, const char *value,
                               struct kx_commit *commit)
{
    struct kx_mutation *set = talloc_zero(s->mem, struct kx_mutation);
    struct kx_check *check = talloc_zero(s->mem, struct kx_check);
    set->type = KX_SET;
    set->key = check->key = test_key(s->mem, key);
    set->value = test_json(value);
    check->condition = KX_IS_ABSENT;
    *commit = (struct kx_commit){.checks = check,
                                 .check_count = 1,
                                 .mutations = set,
                                 .mutation_count = 1,
                                 .memory = s->mem,
                                 .idempotency =
                                     idempotency_of(s->mem, sent_under, 1)};
    return test_commit(&s->test, commit);
}

TEST_WITH(stored_refusal_replays_all_its_details, begin, finish)
{
    struct story *s = *state;
    struct kx_commit first;
    struct kx_commit second;
    assert_int_equal(test_declare(&s->test, s->mem, BY_EMAIL), KX_OK);
    test_set(&s->test, s->mem, "[\"users\",\"u1\"]", "{\"email\":\"a@x\"}");
    assert_int_equal(set_user(s, "[\"users\",\"u1\"]", "check", "{}", &first),
                     KX_CHECK_FAILED);
    assert_int_equal(set_user(s, "[\"users\",\"u2\"]", "unique",
                              "{\"email\":\"a@x\"}", &first),
                     KX_UNIQUE_VIOLATION);
    /* Neither would be refused now. */
    assert_int_equal(test_delete(&s->test, s->mem, "[\"users\",\"u1\"]"),
                     KX_OK);
    assert_int_equal(set_user(s, "[\"users\",\"u1\"]", "check", "{}", &second),
                     KX_CHECK_FAILED);
    assert_true(second.idempotency->replayed);
    assert_int_equal(second.refusal.check_count, 1);
    assert_true(second.refusal.checks[0].actual != 0);
    assert_int_equal(set_user(s, "[\"users\",\"u2\"]", "unique",
                              "{\"email\":\"a@x\"}", &second),
                     KX_UNIQUE_VIOLATION);
    assert_true(second.idempotency->replayed);
    assert_string_equal(second.refusal.index, "by_email");
    assert_string_equal(second.refusal.fault.detail,
                        first.refusal.fault.detail);
    assert_true(kx_equal(second.refusal.existing_key,
                         test_key(s->mem, "[\"users\",\"u1\"]")));
    assert_true(kx_equal(second.refusal.attempted_key,
                         test_key(s->mem, "[\"users\",\"u2\"]")));
    assert_null(test_get(&s->test, s->mem, "[\"users\",\"u2\"]"));
}

/* Both commits are planned in the order of their submission, mostly in one
 * batch. */
TEST_WITH(commit_twice_in_one_batch_is_applied_once, begin, finish)
{
    struct story *s = *state;
    enum { COMMITS = 50 };
    struct kx_commit commits[COMMITS];
    bool done[COMMITS] = {false};
    struct kx_mutation sum = {.type = KX_SUM,
                              .key = test_key(s->mem, "[\"n\"]"),
                              .value = test_json("1")};
    kx_commits_expected(s->test.store);
    for (int i = 0; i < COMMITS; i++) {
        commits[i] =
            (struct kx_commit){.mutations = &sum,
                               .mutation_count = 1,
                               .memory = talloc_new(s->mem),
                               .idempotency = idempotency_of(s->mem, "k", 1),
                               .ticket = {.owner = &done[i]}};
        assert_int_equal(kx_submit(s->test.store, &commits[i]), KX_OK);
    }
    kx_commits_done(s->test.store);
    for (int i = 0; i < COMMITS; i++)
        test_wait(&s->test, &done[i]);
    for (int i = 0; i < COMMITS; i++) {
        assert_int_equal(commits[i].status, KX_OK);
        assert_int_equal(commits[i].idempotency->replayed, i != 0);
        assert_true(commits[i].stamp == commits[0].stamp);
    }
    assert_string_equal(test_get(&s->test, s->mem, "[\"n\"]"), "1");
}

TEST_WITH(replayed_commit_has_the_generated_keys_of_the_first, begin, finish)
{
    struct story *s = *state;
    const char *keys[] = {"[\"made\",1]", "[\"made\",2]"};
    for (int i = 0; i < 2; i++) {
        struct kx_mutation set = {.type = KX_SET,
                                  .key = test_key(s->mem, keys[i]),
                                  .value = test_json("true")};
        struct kx_commit commit = {.mutations = &set,
                                   .mutation_count = 1,
                                   .memory = s->mem,
                                   .idempotency =
                                       idempotency_of(s->mem, "k", 1)};
        commit.idempotency->makes_keys = true;
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        assert_true(kx_equal(set.key, test_key(s->mem, keys[0])));
    }
    assert_null(test_get(&s->test, s->mem, keys[1]));
}

/* ---- Outcomes as bytes -------------------------------------------------- */

/* Bytes that are cut off or changed are refused or read, never more. */
TEST_WITH(outcome_reader_rejects_other_bytes, begin, finish)
{
    struct story *s = *state;
    struct kx_commit first;
    struct kx_buffer bytes;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    assert_int_equal(set_user(s, "[\"a\"]", "k", "2", &first), KX_CHECK_FAILED);
    kx_buffer_init(&bytes, s->mem);
    outcome_write(&first, &bytes);
    for (size_t size = 0; size <= bytes.size; size++) {
        struct kx_commit commit = first;
        commit.refusal = (struct kx_refusal){.check_count = 0};
        enum kx_status status =
            outcome_read(kx_slice(bytes.data, size), &commit);
        assert_int_equal(status, size == bytes.size ? KX_OK : KX_FAILED);
    }
}

TEST(only_repeatable_statuses_are_definite_outcomes)
{
    assert_true(outcome_is_definite(KX_OK));
    assert_true(outcome_is_definite(KX_CHECK_FAILED));
    assert_true(outcome_is_definite(KX_OUT_OF_BOUNDS));
    const enum kx_status never[] = {KX_UNKNOWN,         KX_BUSY,
                                    KX_STOPPING,        KX_DISK_FULL,
                                    KX_FAILED,          KX_UNREACHABLE,
                                    KX_INDEX_NOT_READY, KX_NO_MEMORY,
                                    KX_DAMAGED,         KX_IDEMPOTENCY_DIFFERS};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_false(outcome_is_definite(never[i]));
}

/* A replayed commit returns the results of the first, except for large values.
 */
TEST_WITH(stored_outcome_omits_large_values, begin, finish)
{
    enum { SIZE = KX_OUTCOME_VALUES_MAX / 2, COUNT = 4 };
    struct story *s = *state;
    struct kx_mutation mutations[COUNT];
    struct kx_commit commit;
    const char *value = talloc_asprintf(s->mem, "\"%*s\"", SIZE - 10, "");
    for (int i = 0; i < COUNT; i++) {
        const char *key = talloc_asprintf(s->mem, "[\"k\",%d]", i);
        mutations[i] = (struct kx_mutation){.type = KX_SET,
                                            .key = test_key(s->mem, key),
                                            .value = test_json(value),
                                            .returns = KX_RETURN_NEW};
    }
    for (int again = 0; again < 2; again++) {
        commit =
            (struct kx_commit){.mutations = mutations,
                               .mutation_count = COUNT,
                               .memory = s->mem,
                               .idempotency = idempotency_of(s->mem, "k", 1)};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        assert_int_equal(commit.idempotency->replayed, again);
        for (int i = 0; i < COUNT; i++) {
            assert_false(commit.results[i].omitted);
            assert_true(
                kx_equal(commit.results[i].entry.value.data, kx_text(value)));
        }
    }
    uint64_t stamp = commit.stamp;
    test_set(&s->test, s->mem, "[\"k\",0]", "1"); /* was kept */
    test_set(&s->test, s->mem, "[\"k\",2]", "1");
    test_delete(&s->test, s->mem, "[\"k\",3]");
    commit = (struct kx_commit){.mutations = mutations,
                                .mutation_count = COUNT,
                                .memory = s->mem,
                                .idempotency = idempotency_of(s->mem, "k", 1)};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(commit.results[i].omitted, i >= 2);
        assert_true(commit.results[i].present);
        assert_true(commit.results[i].entry.stamp == stamp);
    }
}

TEST_WITH(stored_outcome_size_does_not_depend_on_large_values, begin, finish)
{
    struct story *s = *state;
    struct kx_result result = {.asked = true, .present = true};
    struct kx_mutation mutation = {.type = KX_SET};
    struct kx_commit commit = {.mutations = &mutation,
                               .mutation_count = 1,
                               .memory = s->mem,
                               .results = &result};
    struct kx_buffer out;
    char *large = talloc_zero_size(s->mem, 1 << 20);
    kx_buffer_init(&out, s->mem);
    result.entry.value.data = kx_slice((uint8_t *)large, 1 << 20);
    outcome_write(&commit, &out);
    assert_in_range(out.size, 1, 100);
    commit.status = KX_OUT_OF_BOUNDS;
    commit.refusal.held = true;
    commit.refusal.holds = result.entry.value;
    out.size = 0;
    outcome_write(&commit, &out);
    assert_in_range(out.size, 1, 200);
    assert_int_equal(outcome_read(kx_buffer_slice(&out), &commit), KX_OK);
    assert_true(commit.refusal.held && commit.refusal.omitted);
}

static uint64_t stored_bytes(struct story *s)
{
    struct kx_stats stats;
    kx_stats_read(s->test.store, &stats);
    return stats.outcome_bytes;
}

/* Whether an outcome is found or assumed to be absent. */
TEST_WITH(stored_outcomes_have_a_quota_per_sender, begin, finish)
{
    enum { MOST = 100 };
    struct story *s = *state;
    struct kx_commit commit;
    int count = 0;
    test_store_close(&s->test);
    s->test.options.outcome_quota = 2000;
    test_store_open(&s->test);
    enum kx_status status = KX_OK;
    for (; status == KX_OK && count < MOST; count++)
        status = add_one(s, talloc_asprintf(s->mem, "a/%d", count), 1, &commit);
    assert_int_equal(status, KX_IDEMPOTENCY_QUOTA);
    assert_in_range(count, 3, MOST - 1);
    uint64_t bytes = stored_bytes(s);
    assert_in_range(bytes, 2000, 3000);
    assert_int_equal(add_one(s, "a/1", 1, &commit), KX_OK);
    assert_true(commit.idempotency->replayed);
    assert_int_equal(add_one(s, "a/1", 2, &commit), KX_IDEMPOTENCY_DIFFERS);
    assert_int_equal(add_one(s, "b/1", 1, &commit), KX_OK);
    assert_false(commit.idempotency->replayed);
    assert_true(stored_bytes(s) > bytes);
    bytes = stored_bytes(s);
    test_store_close(&s->test);
    test_store_open(&s->test);
    assert_true(stored_bytes(s) == bytes);
    assert_int_equal(add_one(s, "a/more", 1, &commit), KX_IDEMPOTENCY_QUOTA);
}

TEST_WITH(expired_outcomes_release_their_quota, begin, finish)
{
    struct story *s = *state;
    struct kx_commit commit;
    int64_t now_ms = kx_now_ms();
    assert_int_equal(add_one(s, "a/1", 1, &commit), KX_OK);
    uint64_t one = stored_bytes(s);
    assert_int_equal(add_one(s, "b/1", 1, &commit), KX_OK);
    assert_true(stored_bytes(s) == 2 * one);
    kx_clock_set(now_ms + 2 * KEPT_MS);
    /* Replaces an outcome that may not be removed yet. */
    assert_int_equal(add_one(s, "a/1", 1, &commit), KX_OK);
    while (stored_bytes(s) > one)
        usleep(1000);
    assert_true(stored_bytes(s) == one);
    kx_clock_set(now_ms + 4 * KEPT_MS);
    test_set(&s->test, s->mem, "[\"other\"]", "1"); /* wakes the writer */
    while (stored_bytes(s) > 0)
        usleep(1000);
}
