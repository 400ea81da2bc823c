/* What commits and replies say of a batch that cannot be stored, or is not on
 * disk yet. The Makefile puts __wrap_X where the core calls X. */
#include "../lib/store.h"

#include <semaphore.h>
#include <stdatomic.h>

enum kx_status __real_txn_apply(struct env *env, const struct txn_write *writes,
                                size_t count);
enum kx_status __wrap_txn_apply(struct env *env, const struct txn_write *writes,
                                size_t count);
enum kx_status __real_env_flush(struct env *env);
enum kx_status __wrap_env_flush(struct env *env);

/* ---- A batch that fails ----------------------------------------------------
 */

static atomic_int applies = 2; /* the one numbered 0 waits, 1 fails */
static sem_t reached;
static sem_t go_on;

enum kx_status __wrap_txn_apply(struct env *env, const struct txn_write *writes,
                                size_t count)
{
    int number = atomic_fetch_add(&applies, 1);
    if (number == 0) {
        sem_post(&reached);
        sem_wait(&go_on);
    }
    return number == 1 ? KX_DISK_FULL : __real_txn_apply(env, writes, count);
}

struct sent {
    struct kx_mutation mutation;
    struct kx_check check;
    struct kx_commit commit;
    bool answered;
};

/* A commit that is the first to set the key. */
static void send(struct story *s, struct sent *sent, const char *key)
{
    *sent = (struct sent){.mutation.type = KX_SET};
    sent->mutation.key = test_key(s->mem, key);
    sent->mutation.value = test_json("1");
    sent->check =
        (struct kx_check){.key = sent->mutation.key, .condition = KX_IS_ABSENT};
    sent->commit = (struct kx_commit){.checks = &sent->check,
                                      .check_count = 1,
                                      .mutations = &sent->mutation,
                                      .mutation_count = 1,
                                      .memory = talloc_new(s->mem),
                                      .ticket.owner = &sent->answered};
    assert_int_equal(kx_submit(s->test.store, &sent->commit), KX_OK);
}

/* The fourth is refused for what the third would have stored, the second for
 * what has been stored long since. */
static void a_refusal_does_not_show_what_was_not_stored(void **state)
{
    struct story *s = *state;
    struct sent sent[4];
    const char *const keys[] = {"[\"hold\"]", "[\"a\"]", "[\"b\"]", "[\"b\"]"};
    const enum kx_status results[] = {KX_OK, KX_CHECK_FAILED, KX_DISK_FULL,
                                      KX_DISK_FULL};
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    sem_init(&reached, 0, 0);
    sem_init(&go_on, 0, 0);
    atomic_store(&applies, 0);
    send(s, &sent[0], keys[0]);
    sem_wait(&reached);
    for (int i = 1; i < 4; i++)
        send(s, &sent[i], keys[i]);
    sem_post(&go_on);
    for (int i = 0; i < 4; i++) {
        test_wait(&s->test, &sent[i].answered);
        assert_int_equal(sent[i].commit.status, results[i]);
        assert_int_equal(sent[i].commit.refusal.fault.status,
                         results[i] == KX_OK ? 0 : results[i]);
    }
    assert_null(test_get(&s->test, s->mem, keys[3]));
}

/* ---- What is not on disk yet -----------------------------------------------
 */

static struct {
    struct story *story; /* NULL: nobody looks */
    enum kx_status index;
    bool entry;
} seen;

/* Looks on the writer's thread, for whom the store is as for a reader. */
enum kx_status __wrap_env_flush(struct env *env)
{
    struct story *s = seen.story;
    struct kx_index_info info;
    seen.story = NULL;
    if (s != NULL) {
        seen.index = test_index(&s->test, "by_n", &info);
        seen.entry = test_get(&s->test, s->mem, "[\"by_n\",1,1]") != NULL;
    }
    return __real_env_flush(env);
}

static void an_index_is_seen_when_it_is_on_disk(void **state)
{
    struct story *s = *state;
    seen.story = s;
    assert_int_equal(
        test_declare(
            &s->test, s->mem,
            "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}"),
        KX_OK);
    assert_int_equal(seen.index, KX_INDEX_ABSENT);
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":1}");
    struct kx_commit drop = {
        .kind = KX_DROP_INDEX, .index_name = kx_text("by_n"), .memory = s->mem};
    seen.story = s;
    assert_int_equal(test_commit(&s->test, &drop), KX_OK);
    assert_int_equal(seen.index, KX_OK);
    assert_true(seen.entry);
    assert_null(test_get(&s->test, s->mem, "[\"by_n\",1,1]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_refusal_does_not_show_what_was_not_stored, begin, finish),
        cmocka_unit_test_setup_teardown(an_index_is_seen_when_it_is_on_disk,
                                        begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
