/* A batch of many rows is applied in slices. A view between two slices reads
 * the state before the batch, and so does a view after a batch that fails. The
 * Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include "commit/batch.h"

enum { ENTRIES = 24, NEW = 8, TAGS = 450, SCANS = 40 };

/* Comparisons of keys for a scan that shows none or a few of the rows. */
enum { COMPARED_MAX = 1000, WORDS = 400 };

void __real_view_close(struct view *view);
void __wrap_view_close(struct view *view);
void __real_view_set_before_image(struct view *view,
                                  const struct net_change *changes,
                                  size_t count);
void __wrap_view_set_before_image(struct view *view,
                                  const struct net_change *changes,
                                  size_t count);
enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);

int __real_kx_compare(struct kx_slice a, struct kx_slice b);
int __wrap_kx_compare(struct kx_slice a, struct kx_slice b);

/* Everything that a view shows of the store. */
struct sight {
    struct kx_buffer text;
    uint64_t seed; /* of the bounds of scans */
};

/* Set while no commit is under way, else the writer's. */
static struct story *looked_at; /* between two slices; NULL: do not look */
static struct kx_slice expected;
static unsigned looks;
static void (*look_else)(struct story *s); /* what to do in place of look() */
static _Thread_local unsigned compared;
static unsigned compared_most;
static unsigned differences;
static unsigned looks_here; /* on the thread of the test */
static bool without_before_image;
static pthread_t here;
static bool fails;

static void show_scan(struct story *s, const struct kx_range *range,
                      struct kx_buffer *out)
{
    struct kx_entry entry;
    enum kx_status status;
    assert_int_equal(kx_scan(s->test.reader, range, NULL), KX_OK);
    while ((status = kx_scan_next(s->test.reader, &entry)) == KX_OK)
        test_show(&entry, out);
    assert_int_equal(status, KX_END);
    kx_scan_end(s->test.reader);
    kx_add_byte(out, '\n');
}

/* Shows the keys of the entries of an index, without their long values. */
static void show_index(struct story *s, const char *name, bool reverse,
                       struct kx_buffer *out)
{
    struct kx_entry entry;
    struct kx_range range = {.reverse = reverse};
    assert_int_equal(kx_scan_index(s->test.reader, kx_text(name), &range, NULL),
                     KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK) {
        kx_add_slice(out, entry.key);
        kx_add(out, &entry.stamp, sizeof entry.stamp);
    }
    kx_scan_end(s->test.reader);
    kx_add_byte(out, '\n');
}

/* The key of an index entry that is there before, after, or never. */
static struct kx_slice some_key(void *mem, uint64_t *seed)
{
    return test_key(mem, talloc_asprintf(mem, "[\"by_tag\",%d,%d]",
                                         (int)random_below(seed, 4 * TAGS),
                                         (int)random_below(seed, 2 * ENTRIES)));
}

static void show_parts(struct story *s, void *mem, struct sight *sight)
{
    for (int i = 0; i < SCANS; i++) {
        struct kx_range range = {.start = some_key(mem, &sight->seed),
                                 .end = some_key(mem, &sight->seed),
                                 .reverse = i % 2 == 1};
        show_scan(s, &range, &sight->text);
    }
}

/* Shows entries and rows that exist before, after or never. */
static void show_keys(struct story *s, void *mem, struct sight *sight)
{
    struct kx_buffer record;
    kx_buffer_init(&record, mem);
    for (int i = 0; i < 4 * ENTRIES; i++) {
        struct kx_entry entry;
        struct kx_slice key =
            i % 2 == 0
                ? test_key(mem, talloc_asprintf(mem, "[\"u\",%d]", i / 2))
                : some_key(mem, &sight->seed);
        enum kx_status status =
            kx_read(s->test.reader, key, &record, &entry, NULL);
        if (status == KX_OK)
            test_show(&entry, &sight->text);
        else
            assert_int_equal(status, KX_ABSENT);
    }
}

/* Shows everything in one view. */
static struct kx_slice look(struct story *s, void *mem)
{
    struct sight sight = {.seed = 1};
    struct kx_range whole = {.reverse = false};
    struct kx_range back = {.reverse = true};
    kx_buffer_init(&sight.text, mem);
    kx_read_begin(s->test.reader);
    show_scan(s, &whole, &sight.text);
    show_scan(s, &back, &sight.text);
    show_index(s, "by_tag", false, &sight.text);
    show_index(s, "by_tag", true, &sight.text);
    show_index(s, "by_mail", false, &sight.text);
    show_parts(s, mem, &sight);
    show_keys(s, mem, &sight);
    assert_int_equal(kx_read_end(s->test.reader), 0);
    return kx_buffer_slice(&sight.text);
}

int __wrap_kx_compare(struct kx_slice a, struct kx_slice b)
{
    compared++;
    return __real_kx_compare(a, b);
}

/* The view is open here, and the view that of another thread's. */
void __wrap_view_close(struct view *view)
{
    if (looked_at != NULL) {
        void *mem = talloc_new(NULL);
        looks++;
        looks_here += pthread_equal(pthread_self(), here) != 0;
        if (look_else != NULL)
            look_else(looked_at);
        else
            differences += !kx_equal(look(looked_at, mem), expected);
        talloc_free(mem);
    }
    __real_view_close(view);
}

void __wrap_view_set_before_image(struct view *view,
                                  const struct net_change *changes,
                                  size_t count)
{
    if (!without_before_image)
        __real_view_set_before_image(view, changes, count);
}

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    if (!fails)
        return __real_txn_apply(env, writes, count, order);
    txn_take_back(env);
    return KX_DISK_FULL;
}

/* Entry n with tags from `first` on, and a mail address of its own. */
static const char *value_of(void *mem, int n, int first)
{
    char *text = talloc_asprintf(mem, "{\"mail\":\"%d\",\"tags\":[", n);
    for (int i = 0; i < TAGS; i++)
        text = talloc_asprintf_append_buffer(text, "%s%d", i == 0 ? "" : ",",
                                             first + (n + i * 7) % (2 * TAGS));
    return talloc_asprintf_append_buffer(text, "]}");
}

static const char *old_value(void *mem, int n)
{
    return value_of(mem, n, 0);
}

static int begin_filled(void **state)
{
    begin(state);
    struct story *s = *state;
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"by_tag\",\"prefix\":[\"u\"],"
                     "\"fields\":[{\"path\":\"/tags\",\"each\":true}]}"),
        KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_mail\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/mail\"],\"unique\":true}"),
                     KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"b\"]", "1"), KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"z\"]", "1"), KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",1000]",
                              "{\"tags\":[1000,1001,1150,1300]}"),
                     KX_OK);
    test_fill(&s->test, "u", 0, ENTRIES, old_value);
    expected = look(s, s->mem);
    looks = 0;
    looks_here = 0;
    differences = 0;
    here = pthread_self();
    without_before_image = false;
    fails = false;
    look_else = NULL;
    looked_at = s;
    return 0;
}

static int finish_filled(void **state)
{
    looked_at = NULL;
    fails = false;
    return finish(state);
}

/* A third of the entries goes, another gets other tags, and there are new ones,
 * of which some expire. */
static enum kx_status change_much_as(
    struct story *s,
    enum kx_status (*submit)(struct kx_store *store, struct kx_commit *commit))
{
    bool done = false;
    void *mem = talloc_new(s->mem);
    struct kx_mutation mutations[ENTRIES + NEW] = {0};
    size_t count = 0;
    for (int n = 0; n < ENTRIES + NEW; n++) {
        struct kx_mutation *mutation = &mutations[count];
        if (n < ENTRIES && n % 3 == 0)
            continue;
        count++;
        mutation->type = n < ENTRIES && n % 3 == 1 ? KX_DELETE : KX_SET;
        mutation->key = test_key(mem, talloc_asprintf(mem, "[\"u\",%d]", n));
        if (mutation->type == KX_SET)
            mutation->value = test_json(value_of(mem, n, TAGS));
        if (n > ENTRIES && n % 5 == 0)
            mutation->expires_at_ms = INT64_C(1) << 45;
    }
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = mem};
    commit.ticket.owner = &done;
    assert_int_equal(submit(s->test.store, &commit), KX_OK);
    test_wait(&s->test, &done);
    talloc_free(mem);
    return commit.status;
}

static enum kx_status change_much(struct story *s)
{
    return change_much_as(s, kx_submit);
}

/* Fails unless the store shows the same when it is reopened with an empty
 * cache. */
static void assert_same_after_opening(struct story *s)
{
    struct kx_slice after = look(s, s->mem);
    test_store_close(&s->test);
    test_store_open(&s->test);
    assert_true(kx_equal(look(s, s->mem), after));
}

TEST_WITH(views_between_slices_see_the_old_state, begin_filled, finish_filled)
{
    struct story *s = *state;
    assert_int_equal(change_much(s), KX_OK);
    looked_at = NULL;
    assert_true(looks > 5);
    assert_int_equal(differences, 0);
    assert_false(kx_equal(look(s, s->mem), expected));
    assert_same_after_opening(s);
}

TEST_WITH(views_see_the_old_state_while_a_range_is_deleted, begin_filled,
          finish_filled)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"u\"]"),
                                   .end = test_key(s->mem, "[\"v\"]"),
                                   .limit = 1000};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    looked_at = NULL;
    assert_int_equal(commit.in_range, ENTRIES + 1);
    assert_true(looks > 5);
    assert_int_equal(differences, 0);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_tag\"]"), "");
    assert_same_after_opening(s);
}

TEST_WITH(failed_batch_restores_the_old_state, begin_filled, finish_filled)
{
    struct story *s = *state;
    fails = true;
    assert_int_equal(change_much(s), KX_DISK_FULL);
    fails = false;
    looked_at = NULL;
    assert_true(looks > 5);
    assert_int_equal(differences, 0);
    assert_true(kx_equal(look(s, s->mem), expected));
    assert_same_after_opening(s);
    assert_true(kx_equal(look(s, s->mem), expected));
    assert_int_equal(change_much(s), KX_OK);
    assert_false(kx_equal(look(s, s->mem), expected));
}

static void note_compared(unsigned before)
{
    if (compared - before > compared_most)
        compared_most = compared - before;
}

/* The entries of an index that the commit fills, in all the ways. */
static void count_words(struct story *s)
{
    struct kx_buffer text;
    struct kx_estimate estimate = {.most = KX_PAGE_MAX};
    struct kx_range all = {.reverse = false};
    struct kx_slice index = kx_text("by_word");
    kx_buffer_init(&text, s->mem);
    kx_read_begin(s->test.reader);
    for (int i = 0; i < 4; i++) {
        void *mem = talloc_new(s->mem);
        struct kx_range range = {.start = test_key(mem, "[\"by_word\"]"),
                                 .end = test_key(mem, "[\"by_wore\"]"),
                                 .reverse = i % 2 == 1};
        unsigned before = compared;
        text.size = 0;
        if (i < 2)
            show_index(s, "by_word", i % 2 == 1, &text);
        else
            show_scan(s, &range, &text);
        note_compared(before);
        differences += text.size < 3;
        talloc_free(mem);
    }
    unsigned before = compared;
    differences += kx_estimate(s->test.reader, index, &all, &estimate, NULL);
    differences += estimate.rows != 3 || !estimate.exact;
    note_compared(before);
    assert_int_equal(kx_read_end(s->test.reader), 0);
    kx_buffer_free(&text);
}

/* Three entries are there, between which the commit adds thousands. */
TEST_WITH(views_between_slices_compare_few_rows_of_the_batch, begin_filled,
          finish_filled)
{
    struct story *s = *state;
    struct kx_mutation mutations[ENTRIES + NEW] = {0};
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"by_word\",\"prefix\":[\"w\"],"
                     "\"fields\":[{\"path\":\"/words\",\"each\":true}]}"),
        KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"w\",1000]",
                              "{\"words\":[-1,4000,20000]}"),
                     KX_OK);
    for (int n = 0; n < ENTRIES + NEW; n++) {
        char *text = talloc_strdup(s->mem, "{\"words\":[");
        for (int i = 0; i < WORDS; i++)
            text = talloc_asprintf_append_buffer(
                text, "%s%d", i == 0 ? "" : ",", i * (ENTRIES + NEW) + n);
        mutations[n].type = KX_SET;
        mutations[n].key =
            test_key(s->mem, talloc_asprintf(s->mem, "[\"w\",%d]", n));
        mutations[n].value = test_json(talloc_strdup_append_buffer(text, "]}"));
    }
    struct kx_commit commit = {.mutations = mutations,
                               .mutation_count = ENTRIES + NEW,
                               .memory = s->mem};
    compared_most = 0;
    look_else = count_words;
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    looked_at = NULL;
    assert_true(looks > 5);
    assert_int_equal(differences, 0);
    assert_in_range(compared_most, 3, COMPARED_MAX);
}

/* A value of a unique index that is assumed to be new, and is not. */
TEST_WITH(wrong_assumption_is_refused_before_the_first_slice, begin_filled,
          finish_filled)
{
    struct story *s = *state;
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",9999]",
                              "{\"mail\":\"30\",\"tags\":[]}"),
                     KX_OK);
    looks = 0;
    assert_int_equal(change_much(s), KX_UNIQUE_VIOLATION);
    looked_at = NULL;
    assert_int_equal(looks, 0);
}

/* Would the stories notice? */
TEST_WITH(view_without_before_image_sees_part_of_batch, begin_filled,
          finish_filled)
{
    struct story *s = *state;
    without_before_image = true;
    assert_int_equal(change_much(s), KX_OK);
    looked_at = NULL;
    assert_true(looks > 5);
    assert_true(differences > 5);
}

/* The thread that would borrow it has others to serve. */
TEST_WITH(large_commit_does_not_borrow_the_writer, begin_filled, finish_filled)
{
    struct story *s = *state;
    assert_int_equal(change_much_as(s, kx_submit_alone), KX_OK);
    looked_at = NULL;
    assert_true(looks > 5);
    assert_int_equal(looks_here, 0);
    assert_int_equal(differences, 0);
}

TEST_WITH(small_batch_is_one_slice, begin_filled, finish_filled)
{
    struct story *s = *state;
    assert_int_equal(
        test_set(&s->test, s->mem, "[\"u\",1]", value_of(s->mem, 1, TAGS)),
        KX_OK);
    looked_at = NULL;
    assert_int_equal(looks, 0);
}
