/* Which changes answer the tickets of which watches, and that no change is
 * lost.
 */
#include "waiter.h"

#include "base/hash.h"

TEST_WITH(each_kind_of_change_answers_the_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    open_waiter(s, &waiter, "[\"a\"]", "[\"b\"]");
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    is_told(s, &waiter);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_mutate(&s->test, s->mem, KX_SUM, "[\"a\"]", "1");
    is_told(s, &waiter);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"b\"]", "1");
    is_told(s, &waiter);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_delete(&s->test, s->mem, "[\"a\"]");
    is_told(s, &waiter);
}

TEST_WITH(watch_is_answered_after_the_flush, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, s->mem);
    open_waiter(s, &waiter, "[\"a\"]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    is_told(s, &waiter);
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_read(s->test.reader, test_key(s->mem, "[\"a\"]"),
                             &record, &entry, NULL),
                     KX_OK);
    assert_int_equal(kx_read_end(s->test.reader), 0);
    assert_int_equal(entry.stamp, 1);
}

TEST_WITH(refused_commit_answers_no_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    test_set(&s->test, s->mem, "[\"a\"]", "\"text\"");
    open_waiter(s, &waiter, "[\"a\"]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    assert_int_equal(test_mutate(&s->test, s->mem, KX_SUM, "[\"a\"]", "1"),
                     KX_TYPE_MISMATCH);
    is_not_told(s, &waiter);
}

TEST_WITH(ticket_is_answered_or_cancelled_but_not_both, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    open_waiter(s, &waiter, "[\"a\"]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    is_not_told(s, &waiter);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    assert_false(waiter.told);
    assert_int_equal(wait_for(&waiter), KX_END);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "2");
    is_told(s, &waiter);
    assert_false(kx_watch_cancel(s->test.store, &waiter.ticket));
}

TEST_WITH(change_answers_all_watches_of_its_key, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiters[3];
    struct kx_stats figures;
    open_waiter(s, &waiters[0], "[\"a\"]", "[\"b\"]");
    open_waiter(s, &waiters[1], "[\"b\"]", "[\"b\"]");
    open_waiter(s, &waiters[2], "[\"c\"]", "[\"a\"]");
    kx_stats_read(s->test.store, &figures);
    assert_int_equal(figures.watches, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wait_for(&waiters[i]), KX_OK);
    test_set(&s->test, s->mem, "[\"b\"]", "1");
    is_told(s, &waiters[0]);
    is_told(s, &waiters[1]);
    is_not_told(s, &waiters[2]);
    kx_watch_close(waiters[0].watch);
    assert_int_equal(wait_for(&waiters[1]), KX_OK);
    assert_int_equal(wait_for(&waiters[2]), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    is_told(s, &waiters[2]);
    is_not_told(s, &waiters[1]);
    kx_watch_close(waiters[1].watch);
    kx_watch_close(waiters[2].watch);
    kx_stats_read(s->test.store, &figures);
    assert_int_equal(figures.watches, 0);
}

TEST_WITH(key_with_a_stamp_suffix_answers_its_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter whole;
    struct waiter stem;
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"log\"]"),
                                   .value = test_json("1"),
                                   .suffix_stamp = true};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    open_waiter(s, &whole, "[\"log\",\"00000000000000010000\"]", NULL);
    open_waiter(s, &stem, "[\"log\"]", NULL);
    assert_int_equal(wait_for(&whole), KX_OK);
    assert_int_equal(wait_for(&stem), KX_OK);
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    is_told(s, &whole);
    is_not_told(s, &stem);
}

TEST_WITH(deleted_range_answers_watches_of_its_keys, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    test_set(&s->test, s->mem, "[\"r\",1]", "1");
    test_set(&s->test, s->mem, "[\"r\",2]", "1");
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"r\"]"),
                                   .end = test_key(s->mem, "[\"s\"]"),
                                   .limit = 10};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    open_waiter(s, &waiter, "[\"r\",2]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    is_told(s, &waiter);
}

static const char *const BY_EMAIL =
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"
    "\"unique\":true}";

TEST_WITH(built_index_answers_watches_of_its_entries, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    test_set(&s->test, s->mem, "[\"users\",1]", "{\"email\":\"a@b.c\"}");
    open_waiter(s, &waiter, "[\"by_email\",\"a@b.c\"]", NULL);
    assert_int_equal(test_declare(&s->test, s->mem, BY_EMAIL), KX_OK);
    while (test_get(&s->test, s->mem, "[\"by_email\",\"a@b.c\"]") == NULL)
        if (wait_for(&waiter) == KX_OK)
            is_told(s, &waiter);
    while (wait_for(&waiter) == KX_END)
        continue;
    assert_int_equal(test_drop(&s->test, s->mem, "by_email"), KX_OK);
    is_told(s, &waiter);
}

/* No client writes after the migration. */
TEST_WITH(migration_answers_watches_of_entries_that_change, begin,
          finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    struct kx_commit migrate = {.command.kind = KX_MIGRATE_INDEX,
                                .command.index_name = kx_text("by_email"),
                                .command.declaration =
                                    kx_text("{\"store\":\"value\"}"),
                                .memory = s->mem};
    const char *const key = "[\"by_email\",\"a@b.c\"]";
    test_set(&s->test, s->mem, "[\"users\",1]", "{\"email\":\"a@b.c\"}");
    test_declare(&s->test, s->mem, BY_EMAIL);
    open_waiter(s, &waiter, key, NULL);
    while (test_get(&s->test, s->mem, key) == NULL)
        if (wait_for(&waiter) == KX_OK)
            is_told(s, &waiter);
    assert_int_equal(test_commit(&s->test, &migrate), KX_OK);
    while (*test_get(&s->test, s->mem, key) != '{')
        if (wait_for(&waiter) == KX_OK)
            is_told(s, &waiter);
}

static const char *email_of(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"email\":\"%d\"}", n);
}

/* The index shows the same entries as before these steps. */
TEST_WITH(steps_of_a_migration_answer_no_watch, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    struct kx_commit pace = {
        .command.kind = KX_PACE_INDEX,
        .command.index_name = kx_text("by_email"),
        .command.pace = {.sets_limit = true, .per_second = 10},
        .memory = s->mem};
    struct kx_commit change = {.command.kind = KX_MIGRATE_INDEX,
                               .command.index_name = kx_text("by_email"),
                               .command.declaration =
                                   kx_text("{\"store\":\"value\"}"),
                               .memory = s->mem};
    test_fill(&s->test, "users", 0, 1000, email_of);
    test_declare(&s->test, s->mem, BY_EMAIL);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "by_email", &info), KX_OK);
    assert_int_equal(test_commit(&s->test, &pace), KX_OK);
    open_waiter(s, &waiter, "[\"by_email\",\"1\"]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    assert_int_equal(test_commit(&s->test, &change), KX_OK);
    do
        assert_int_equal(test_index(&s->test, "by_email", &info), KX_OK);
    while (info.done == 0);
    assert_int_equal(info.state, KX_INDEX_MIGRATING);
    is_not_told(s, &waiter);
}

enum { WRITES = 500 };

static void *write_numbers(void *argument)
{
    struct story *s = argument;
    void *mem = talloc_new(NULL);
    char text[16];
    for (int i = 1; i <= WRITES; i++) {
        snprintf(text, sizeof text, "%d", i);
        test_set(&s->test, mem, "[\"n\"]", text);
    }
    talloc_free(mem);
    return NULL;
}

/* A change that got lost between two waits would leave the watcher waiting for
 * ever. */
TEST_WITH(watcher_sees_the_last_of_many_changes, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    pthread_t writer;
    int last = 0;
    void *mem = talloc_new(NULL);
    open_waiter(s, &waiter, "[\"n\"]", NULL);
    assert_int_equal(pthread_create(&writer, NULL, write_numbers, s), 0);
    while (last < WRITES) {
        if (wait_for(&waiter) == KX_OK)
            is_told(s, &waiter);
        int now = atoi(test_get(&s->test, mem, "[\"n\"]"));
        assert_true(now >= last);
        last = now;
    }
    pthread_join(writer, NULL);
    talloc_free(mem);
}

/* The next number from *number on that, as a string and the only part of a key,
 * falls into the first place of the table. */
static void next_in_place(unsigned *number, char *json, size_t size)
{
    uint8_t key[] = "\x02"
                    "00000000";
    do {
        ++*number;
        for (unsigned i = 0, rest = *number; i < 8; i++, rest /= 10)
            key[8 - i] = (uint8_t)('0' + rest % 10);
    } while (hash_bytes(kx_slice(key, sizeof key)) % (1 << 14) != 0);
    snprintf(json, size, "[\"%08u\"]", *number);
    assert_true(*number < 100000000);
}

/* The table of places counts to 255; with one topic more in one it must still
 * know that there are some, when most of them have gone. */
TEST_WITH(watch_is_answered_among_many_of_one_hash, begin, finish_watches)
{
    enum { MANY = 256 };
    struct story *s = *state;
    struct waiter waiters[MANY];
    char json[24];
    unsigned number = 0;
    for (int i = 0; i < MANY; i++) {
        next_in_place(&number, json, sizeof json);
        open_waiter(s, &waiters[i], json, NULL);
    }
    assert_int_equal(hash_bytes(test_key(s->mem, json)) % (1 << 14), 0);
    for (int i = 0; i + 1 < MANY; i++)
        kx_watch_close(waiters[i].watch);
    assert_int_equal(wait_for(&waiters[MANY - 1]), KX_OK);
    test_set(&s->test, s->mem, json, "1");
    is_told(s, &waiters[MANY - 1]);
}

/* A key that is watched again after its last watch has ended. */
TEST_WITH(key_can_be_watched_again, begin, finish_watches)
{
    struct story *s = *state;
    struct waiter waiter;
    for (int i = 0; i < 600; i++) {
        open_waiter(s, &waiter, "[\"a\"]", "[\"b\"]");
        kx_watch_close(waiter.watch);
    }
    open_waiter(s, &waiter, "[\"a\"]", NULL);
    assert_int_equal(wait_for(&waiter), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    is_told(s, &waiter);
}
