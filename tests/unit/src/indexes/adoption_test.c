/* Taking over hand-kept entries, one story each. */
#include "store.h"

#define BY_EMAIL                                                               \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"   \
    "\"unique\":true,\"adopt\":true}"

static void set(struct story *s, const char *key, const char *value)
{
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
}

/* Commits one mutation of any kind. */
static void commit(struct story *s, struct kx_mutation mutation)
{
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

static void wait_adopted(struct story *s, struct kx_index_info *info_out)
{
    do {
        usleep(500);
        assert_int_equal(test_index(&s->test, "by_email", info_out), KX_OK);
    } while (info_out->state == KX_INDEX_BUILDING);
}

static void adopt(struct story *s, struct kx_index_info *info_out)
{
    assert_int_equal(test_declare(&s->test, s->mem, BY_EMAIL), KX_OK);
    wait_adopted(s, info_out);
}

static uint64_t count(struct story *s, enum kx_adopted kind)
{
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    kx_index_find(s->test.reader, kx_text("by_email"), &info);
    uint64_t count = info.adoption->counts[kind];
    kx_read_end(s->test.reader);
    return count;
}

TEST_WITH(adoption_keeps_pointers_written_by_deno, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    static const uint8_t ada[] = {0xff, 0x0f, '"', 3, 'a', 'd', 'a'};
    set(s, "[\"users\",\"ada\"]", "{\"email\":\"a@x\"}");
    commit(s, (struct kx_mutation){
                  .type = KX_SET,
                  .key = test_key(s->mem, "[\"by_email\",\"a@x\"]"),
                  .value = {.encoding = KX_V8,
                            .data = kx_slice(ada, sizeof ada)}});
    adopt(s, &info);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_int_equal(count(s, KX_KEPT), 1);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_email\"]"),
                        "[\"by_email\",\"a@x\"] [\"ada\"]|");
}

TEST_WITH(adoption_keeps_the_owner_that_the_entry_names, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    set(s, "[\"users\",1]", "{\"email\":\"same\"}");
    set(s, "[\"users\",2]", "{\"email\":\"same\"}");
    set(s, "[\"users\",3]", "{\"email\":\"same\"}");
    set(s, "[\"by_email\",\"same\"]", "2");
    adopt(s, &info);
    assert_int_equal(info.state, KX_INDEX_CONFLICTED);
    assert_int_equal(info.conflicts, 2);
    assert_int_equal(count(s, KX_KEPT), 1);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_email\"]"),
                        "[\"by_email\",\"same\"] [2]|");
}

TEST_WITH(adoption_ignores_expired_entries, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    kx_clock_set(1000);
    set(s, "[\"users\",1]", "{\"email\":\"a\"}");
    for (int i = 0; i < 2; i++)
        commit(s, (struct kx_mutation){
                      .type = KX_SET,
                      .key = test_key(s->mem, i ? "[\"by_email\",\"a\"]"
                                                : "[\"by_email\",\"b\"]"),
                      .value = test_json("1"),
                      .expires_at_ms = 2000});
    set(s, "[\"by_email\",\"c\"]", "1");
    kx_clock_set(3000);
    adopt(s, &info);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_int_equal(count(s, KX_KEPT), 0);
    assert_int_equal(count(s, KX_ADDED), 1);
    assert_int_equal(count(s, KX_REMOVED), 1);
    assert_int_equal(info.entries, 1);
    kx_clock_set(4000);
    set(s, "[\"users\",2]", "{\"email\":\"d\"}");
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [1]|[\"by_email\",\"d\"] [2]|");
}

/* The row in the expiry table of what was taken over must do no harm. */
TEST_WITH(adopted_entry_expires_with_its_primary, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    kx_clock_set(1000);
    const char *keys[] = {"[\"users\",1]", "[\"by_email\",\"a\"]"};
    for (int i = 0; i < 2; i++)
        commit(s, (struct kx_mutation){
                      .type = KX_SET,
                      .key = test_key(s->mem, keys[i]),
                      .value = test_json(i ? "1" : "{\"email\":\"a\"}"),
                      .expires_at_ms = 2000});
    adopt(s, &info);
    assert_int_equal(info.entries, 1);
    kx_clock_set(3000);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_email\"]"), "");
    for (int i = 0; i < 1000 && info.entries != 0; i++) {
        struct kx_commit nothing = {.memory = s->mem};
        test_commit(&s->test, &nothing);
        assert_int_equal(test_index(&s->test, "by_email", &info), KX_OK);
    }
    assert_int_equal(info.entries, 0);
}

TEST_WITH(adoption_of_orphans_only_removes_them, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    set(s, "[\"by_email\",\"a\"]", "1");
    set(s, "[\"by_email\"]", "1");
    set(s, "[\"by_emailing\"]", "1");
    adopt(s, &info);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_int_equal(count(s, KX_REMOVED), 2);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_email\"]"), "");
    assert_non_null(test_get(&s->test, s->mem, "[\"by_emailing\"]"));
}

/* The adoption takes all entries, though they are twice as many as one job
 * takes. */
TEST_WITH(large_adoption_takes_several_steps, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    enum { MANY = 20000, PART = 500 };
    for (int n = 0; n < MANY; n += PART) {
        struct kx_mutation mutations[2 * PART];
        for (int i = 0; i < PART; i++) {
            char *key = talloc_asprintf(s->mem, "[\"users\",%d]", n + i);
            char *email = talloc_asprintf(s->mem, "[\"by_email\",%d]", n + i);
            mutations[2 * i] = (struct kx_mutation){
                .type = KX_SET,
                .key = test_key(s->mem, key),
                .value = test_json(talloc_asprintf(
                    s->mem, "{\"email\":%d}", (n + i) % 100 ? n + i : -1))};
            mutations[2 * i + 1] = (struct kx_mutation){
                .type = KX_SET,
                .key = test_key(s->mem, email),
                .value = test_json(talloc_asprintf(s->mem, "%d", n + i))};
        }
        struct kx_commit commit = {.mutations = mutations,
                                   .mutation_count = 2 * PART,
                                   .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    }
    adopt(s, &info);
    assert_int_equal(info.state, KX_INDEX_CONFLICTED);
    assert_int_equal(info.conflicts, MANY / 100 - 1);
    assert_int_equal(count(s, KX_KEPT), MANY - MANY / 100);
    assert_int_equal(count(s, KX_ADDED), 1);
    assert_int_equal(count(s, KX_REMOVED), MANY / 100);
    assert_int_equal(info.entries, MANY - MANY / 100 + 1);
}

#define STRICT                                                                 \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"   \
    "\"unique\":true,\"missing\":\"error\",\"adopt\":true}"

/* Stores so many users and the hand-kept entry of each; the last user has no
 * email. */
static void keep_users(struct story *s, int count)
{
    for (int n = 0; n < count; n++) {
        char *key = talloc_asprintf(s->mem, "[\"users\",%d]", n);
        char *email = talloc_asprintf(s->mem, "[\"by_email\",%d]", n);
        set(s, key,
            n == count - 1 ? "{}"
                           : talloc_asprintf(s->mem, "{\"email\":%d}", n));
        if (n < count - 1)
            set(s, email, talloc_asprintf(s->mem, "%d", n));
    }
}

/* Writes a user as the guide does, and changes the email of another. */
static void write_by_hand(struct story *s)
{
    struct kx_mutation both[] = {
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"users\",\"new\"]"),
         .value = test_json("{\"email\":\"new\"}")},
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"by_email\",\"new\"]"),
         .value = test_json("\"new\"")}};
    struct kx_commit insert = {
        .mutations = both, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &insert), KX_OK);
    set(s, "[\"users\",1]", "{\"email\":\"other\"}");
    assert_null(test_get(&s->test, s->mem, "[\"by_email\",1]"));
    assert_non_null(test_get(&s->test, s->mem, "[\"by_email\",\"other\"]"));
}

/* Builds it in steps, each of which stores how far it has come. */
static void adopt_in_steps(struct story *s)
{
    struct kx_commit commits[] = {{.command.kind = KX_DECLARE_INDEX,
                                   .command.declaration = kx_text(STRICT),
                                   .command.pace.paused = true,
                                   .memory = s->mem},
                                  {.command.kind = KX_PACE_INDEX,
                                   .command.index_name = kx_text("by_email"),
                                   .command.pace = {.sets_paused = true,
                                                    .sets_limit = true,
                                                    .per_second = 20000},
                                   .memory = s->mem}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(test_commit(&s->test, &commits[i]), KX_OK);
}

/* One scan adopts entries, a later one fails. Adopted entries stay entries of
 * the index until it is ready. */
TEST_WITH(failed_adoption_restarts_with_adopted_entries, begin, finish)
{
    enum { USERS = 4200 };
    struct story *s = *state;
    struct kx_index_info info;
    keep_users(s, USERS);
    uint64_t stamp = test_stamp(&s->test, s->mem, "[\"by_email\",2]");
    adopt_in_steps(s);
    wait_adopted(s, &info);
    assert_int_equal(info.state, KX_INDEX_FAILED);
    assert_in_range(count(s, KX_KEPT), 1, USERS - 2);
    test_store_close(&s->test);
    test_store_open(&s->test);
    write_by_hand(s);
    set(s, talloc_asprintf(s->mem, "[\"users\",%d]", USERS - 1),
        "{\"email\":\"late\"}");
    struct kx_commit again = {.command.kind = KX_DECLARE_INDEX,
                              .command.declaration = kx_text(STRICT),
                              .command.pace.paused = true,
                              .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &again), KX_OK);
    assert_true(again.created);
    assert_int_equal(test_stamp(&s->test, s->mem, "[\"by_email\",2]"), stamp);
    struct kx_commit go_on = {.command.kind = KX_PACE_INDEX,
                              .command.index_name = kx_text("by_email"),
                              .command.pace.sets_paused = true,
                              .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &go_on), KX_OK);
    wait_adopted(s, &info);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_int_equal(info.entries, USERS + 1);
    assert_int_equal(count(s, KX_KEPT), USERS - 1);
    assert_int_equal(test_stamp(&s->test, s->mem, "[\"by_email\",2]"), stamp);
}
