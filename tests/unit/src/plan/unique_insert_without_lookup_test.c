/* Values of unique indexes are assumed to be new, and a batch whose
 * assumption is wrong is planned again with a look: its commits end as if
 * there had never been one. The Makefile puts __wrap_X where the core calls X.
 */
#include "together.h"

enum { COMMITS_MAX = 4, MUTATIONS_MAX = 2, LOOKING_BATCHES = 64 };

enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);

/* Written by the writer; read when it has answered. */
static int insertions; /* rows that were assumed to be absent */
static int refusals;   /* batches with one that was not */

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    enum kx_status status = __real_txn_apply(env, writes, count, order);
    for (size_t i = 0; i < count; i++)
        insertions += writes[i].type == ROW_INSERT;
    refusals += status == KX_CHECK_FAILED;
    return status;
}

struct commits_together {
    struct story *s;
    struct kx_mutation mutations[COMMITS_MAX][MUTATIONS_MAX];
    struct kx_check check;
    struct kx_commit commits[COMMITS_MAX];
    size_t count;
};

/* Stores entry ["u",1] with mail "a", which other entries then cannot have. */
static struct commits_together set_up(struct story *s)
{
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_mail\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/mail\"],\"unique\":true}"),
                     KX_OK);
    assert_int_equal(
        test_set(&s->test, s->mem, "[\"u\",1]", "{\"mail\":\"a\"}"), KX_OK);
    insertions = 0;
    refusals = 0;
    return (struct commits_together){.s = s};
}

/* Adds a commit that sets the entry, or deletes it when there is no value. */
static struct kx_commit *add(struct commits_together *batch, const char *key,
                             const char *value)
{
    struct kx_mutation *mutation = batch->mutations[batch->count];
    struct kx_commit *commit = &batch->commits[batch->count++];
    *mutation = (struct kx_mutation){.type = KX_DELETE,
                                     .key = test_key(batch->s->mem, key)};
    if (value != NULL) {
        mutation->type = KX_SET;
        mutation->value = test_json(value);
    }
    *commit = (struct kx_commit){.mutations = mutation,
                                 .mutation_count = 1,
                                 .memory = talloc_new(batch->s->mem)};
    return commit;
}

/* Adds a second mutation to the last commit. */
static void add_set(struct commits_together *batch, const char *key,
                    const char *value)
{
    struct kx_commit *commit = &batch->commits[batch->count - 1];
    batch->mutations[batch->count - 1][commit->mutation_count++] =
        (struct kx_mutation){.type = KX_SET,
                             .key = test_key(batch->s->mem, key),
                             .value = test_json(value)};
}

/* Or a condition. */
static void only_if_absent(struct commits_together *batch, const char *key)
{
    struct kx_commit *commit = &batch->commits[batch->count - 1];
    batch->check = (struct kx_check){.key = test_key(batch->s->mem, key),
                                     .condition = KX_IS_ABSENT};
    commit->checks = &batch->check;
    commit->check_count = 1;
}

static void run(struct commits_together *batch)
{
    test_commit_together(&batch->s->test, batch->s->mem, batch->commits,
                         batch->count);
}

static void assert_entries(struct story *s, const char *entries)
{
    struct kx_index_info info;
    size_t count = 0;
    for (const char *at = entries; *at != '\0'; at++)
        count += *at == '|';
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_mail\"]"), entries);
    assert_int_equal(test_index(&s->test, "by_mail", &info), KX_OK);
    assert_int_equal(info.entries, count);
}

TEST_WITH(new_unique_values_are_inserted_without_lookup, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"b\"}");
    add(&batch, "[\"u\",3]", "{\"mail\":\"c\"}");
    run(&batch);
    assert_int_equal(insertions, 2);
    assert_int_equal(refusals, 0);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|[\"by_mail\",\"b\"] [2]|"
                      "[\"by_mail\",\"c\"] [3]|");
}

TEST_WITH(only_the_commit_with_a_used_value_is_refused, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"b\"}");
    struct kx_commit *refused = add(&batch, "[\"u\",3]", "{\"mail\":\"a\"}");
    add(&batch, "[\"u\",4]", "{\"mail\":\"d\"}");
    run(&batch);
    assert_int_equal(refusals, 1);
    assert_int_equal(batch.commits[0].status, KX_OK);
    assert_true(batch.commits[0].created);
    assert_int_equal(refused->status, KX_UNIQUE_VIOLATION);
    assert_true(
        kx_equal(refused->refusal.existing_key, test_key(s->mem, "[\"u\",1]")));
    assert_int_equal(batch.commits[2].status, KX_OK);
    assert_int_equal(batch.commits[2].stamp, batch.commits[0].stamp + 1);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|[\"by_mail\",\"b\"] [2]|"
                      "[\"by_mail\",\"d\"] [4]|");
}

/* When the batch is applied, only the entry whose value was assumed to be new
 * shows that the assumption was wrong. */
TEST_WITH(used_unique_value_claimed_and_released_in_one_batch_is_refused, begin,
          finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"a\"}");
    add(&batch, "[\"u\",2]", NULL);
    add(&batch, "[\"u\",3]", "{\"mail\":\"c\"}");
    add(&batch, "[\"u\",3]", NULL);
    run(&batch);
    assert_int_equal(refusals, 1);
    assert_int_equal(batch.commits[0].status, KX_UNIQUE_VIOLATION);
    for (size_t i = 1; i < batch.count; i++)
        assert_int_equal(batch.commits[i].status, KX_OK);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|");
}

TEST_WITH(new_unique_value_added_and_removed_in_one_batch_leaves_no_row, begin,
          finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",3]", "{\"mail\":\"c\"}");
    add(&batch, "[\"u\",3]", NULL);
    run(&batch);
    assert_int_equal(insertions, 1);
    assert_int_equal(refusals, 0);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|");
}

/* The second commit is refused for "b", when it has assumed that "a" is new:
 * the third must not take that over. */
TEST_WITH(refused_commit_leaves_no_assumption, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"b\"}");
    struct kx_commit *refused = add(&batch, "[\"u\",3]", "{\"mail\":\"a\"}");
    add_set(&batch, "[\"u\",4]", "{\"mail\":\"b\"}");
    struct kx_commit *checked = add(&batch, "[\"other\"]", "1");
    only_if_absent(&batch, "[\"by_mail\",\"a\"]");
    run(&batch);
    assert_int_equal(refusals, 0);
    assert_int_equal(refused->status, KX_UNIQUE_VIOLATION);
    assert_true(
        kx_equal(refused->refusal.existing_key, test_key(s->mem, "[\"u\",2]")));
    assert_int_equal(checked->status, KX_CHECK_FAILED);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|[\"by_mail\",\"b\"] [2]|");
}

/* The first is in the way of the second only as long as "a" seems to be new. */
TEST_WITH(refusal_under_a_wrong_assumption_is_forgotten, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"a\"}");
    struct kx_commit *checked = add(&batch, "[\"other\"]", "1");
    only_if_absent(&batch, "[\"u\",2]");
    run(&batch);
    assert_int_equal(refusals, 1);
    assert_int_equal(batch.commits[0].status, KX_UNIQUE_VIOLATION);
    assert_int_equal(checked->status, KX_OK);
    assert_int_equal(checked->refusal.fault.status, KX_OK);
    assert_int_equal(checked->refusal.check_count, 0);
}

/* A dry commit stores nothing, so a wrong assumption would go unnoticed. */
TEST_WITH(dry_commit_looks_up_unique_values, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"a\"}")->dry = true;
    run(&batch);
    assert_int_equal(batch.commits[0].status, KX_UNIQUE_VIOLATION);
    assert_int_equal(insertions, 0);
}

TEST_WITH(unique_value_of_an_expired_entry_is_free, begin, finish)
{
    struct story *s = *state;
    struct commits_together batch = set_up(s);
    add(&batch, "[\"u\",2]", "{\"mail\":\"b\"}");
    batch.mutations[0][0].expires_at_ms = 1;
    run(&batch);
    assert_int_equal(batch.commits[0].status, KX_OK);
    /* Not together with another: the writer may be about to sweep. */
    assert_int_equal(
        test_set(&s->test, s->mem, "[\"u\",3]", "{\"mail\":\"b\"}"), KX_OK);
    assert_entries(s, "[\"by_mail\",\"a\"] [1]|[\"by_mail\",\"b\"] [3]|");
}

/* After a wrong assumption a look-up is cheaper than another retry. */
TEST_WITH(writer_is_pessimistic_after_a_wrong_assumption, begin, finish)
{
    struct story *s = *state;
    set_up(s);
    assert_int_equal(
        test_set(&s->test, s->mem, "[\"u\",2]", "{\"mail\":\"a\"}"),
        KX_UNIQUE_VIOLATION);
    assert_int_equal(refusals, 1);
    insertions = 0;
    for (int i = 0; i <= LOOKING_BATCHES; i++) {
        assert_int_equal(insertions, 0);
        const char *key = talloc_asprintf(s->mem, "[\"u\",\"%d\"]", i);
        const char *value = talloc_asprintf(s->mem, "{\"mail\":%d}", i);
        assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
    }
    assert_int_equal(insertions, 1);
    assert_int_equal(refusals, 1);
}
