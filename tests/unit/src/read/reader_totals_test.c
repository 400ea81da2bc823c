/* Totals while entries that have expired are not removed yet. The Makefile puts
 * __wrap_X where the core calls X. */
#include "store.h"

#include <stdatomic.h>

#include "commit/view.h"
#include "store/expire_job.h"

/* Entries that a view may have to take off, as in reader_totals.c; entries of a
 * commit that is applied in slices, and the rows that each of them has. */
enum { DUE_MAX = 10000, LARGE = 24, TAGS = 450 };

static const int64_t NOON_MS = 1000000;
static const int64_t LATER_MS = 1001000;

void __real_expire_job_step(struct writer *writer);
void __wrap_expire_job_step(struct writer *writer);
void __real_view_close(struct view *view);
void __wrap_view_close(struct view *view);

static atomic_bool removed;       /* what has expired, as ever */
static struct story *between;     /* the slices of a batch; else NULL */
static unsigned looks;            /* there */
static unsigned differences;      /* of what they should have shown */
static struct kx_entry last_read; /* by text_of */

void __wrap_expire_job_step(struct writer *writer)
{
    if (atomic_load(&removed))
        __real_expire_job_step(writer);
}

static int begin_totals(void **state)
{
    begin(state);
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    atomic_store(&removed, false);
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"n\",\"prefix\":[\"a\"],\"fields\":[],"
                     "\"store\":{\"aggregate\":{\"sum\":[\"\"]}}}"),
        KX_OK);
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "n", &info), KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"a\",-1]", "5"), KX_OK);
    return 0;
}

static void expire_later(struct story *s, int n)
{
    char *key = talloc_asprintf(s->mem, "[\"a\",%d]", n);
    assert_int_equal(test_set_until(&s->test, s->mem, key, LATER_MS), KX_OK);
}

/* The totals, by their key; without totals the name of the status. */
static const char *text_of(struct story *s)
{
    struct kx_buffer record;
    kx_buffer_init(&record, s->mem);
    kx_read_begin(s->test.reader);
    enum kx_status status = kx_read(s->test.reader, test_key(s->mem, "[\"n\"]"),
                                    &record, &last_read, NULL);
    kx_read_end(s->test.reader);
    if (status != KX_OK)
        return kx_status_name(status);
    return talloc_strndup(s->mem, (const char *)last_read.value.data.data,
                          last_read.value.data.size);
}

/* The totals, in a scan of the index or of the entries. */
static const char *scanned(struct story *s, bool by_index)
{
    struct kx_range range = {.start = test_key(s->mem, "[\"n\"]")};
    struct kx_entry entry;
    kx_read_begin(s->test.reader);
    if (by_index)
        range.start = kx_slice(NULL, 0);
    enum kx_status status =
        by_index ? kx_scan_index(s->test.reader, kx_text("n"), &range, NULL)
                 : kx_scan(s->test.reader, &range, NULL);
    if (status == KX_OK)
        status = kx_scan_next(s->test.reader, &entry);
    const char *text = kx_status_name(status);
    if (status == KX_OK)
        text = talloc_strndup(s->mem, (const char *)entry.value.data.data,
                              entry.value.data.size);
    kx_read_end(s->test.reader);
    return text;
}

static void assert_shown(struct story *s, const char *text)
{
    assert_string_equal(text_of(s), text);
    assert_string_equal(scanned(s, true), text);
    assert_string_equal(scanned(s, false), text);
}

static bool is_shown(struct story *s, const char *text)
{
    return strcmp(text_of(s), text) == 0 &&
           strcmp(scanned(s, true), text) == 0 &&
           strcmp(scanned(s, false), text) == 0;
}

static void until_removed(struct story *s, uint64_t count)
{
    struct kx_stats figures = {.expired = 0};
    atomic_store(&removed, true);
    while (figures.expired < count) {
        kx_stats_read(s->test.store, &figures);
        usleep(1000);
    }
}

TEST_WITH(totals_exclude_expired_entries, begin_totals, finish)
{
    struct story *s = *state;
    expire_later(s, 1);
    expire_later(s, 2);
    assert_shown(s, "{\"count\":3,\"sum\":{\"\":\"7\"}}");
    assert_false(last_read.reduced);
    uint64_t stamp = last_read.stamp;
    kx_clock_set(LATER_MS);
    assert_shown(s, "{\"count\":1,\"sum\":{\"\":\"5\"}}");
    assert_true(last_read.reduced);
    assert_true(last_read.stamp == stamp);
    until_removed(s, 2);
    assert_shown(s, "{\"count\":1,\"sum\":{\"\":\"5\"}}");
    assert_false(last_read.reduced);
    assert_true(last_read.stamp > stamp);
}

TEST_WITH(totals_omit_a_group_of_expired_entries, begin_totals, finish)
{
    struct story *s = *state;
    expire_later(s, -1);
    assert_shown(s, "{\"count\":1,\"sum\":{\"\":\"1\"}}");
    kx_clock_set(LATER_MS);
    assert_string_equal(text_of(s), "KX_ABSENT");
    assert_string_equal(scanned(s, true), "KX_END");
}

TEST_WITH(totals_with_too_many_expired_entries_are_busy, begin_totals, finish)
{
    struct story *s = *state;
    for (int n = 0; n < DUE_MAX; n += KX_MUTATIONS_MAX) {
        struct kx_mutation list[KX_MUTATIONS_MAX] = {0};
        void *mem = talloc_new(s->mem);
        for (int i = 0; i < KX_MUTATIONS_MAX; i++)
            list[i] = (struct kx_mutation){
                .type = KX_SET,
                .key = test_key(mem, talloc_asprintf(mem, "[\"a\",%d]", n + i)),
                .value = test_json("1"),
                .expires_at_ms = LATER_MS};
        struct kx_commit commit = {.mutations = list,
                                   .mutation_count = KX_MUTATIONS_MAX,
                                   .memory = mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        talloc_free(mem);
    }
    assert_shown(s, "{\"count\":10001,\"sum\":{\"\":\"10005\"}}");
    expire_later(s, DUE_MAX);
    kx_clock_set(LATER_MS);
    assert_shown(s, "KX_BUSY");
    until_removed(s, DUE_MAX + 1);
    assert_shown(s, "{\"count\":1,\"sum\":{\"\":\"5\"}}");
}

/* ---- Between two slices of a batch -------------------------------------- */

/* The entries expire there, and after that they have not. */
void __wrap_view_close(struct view *view)
{
    struct story *s = between;
    if (s != NULL) {
        looks++;
        differences += !is_shown(s, "{\"count\":4,\"sum\":{\"\":\"8\"}}");
        kx_clock_set(LATER_MS);
        differences += !is_shown(s, "{\"count\":1,\"sum\":{\"\":\"5\"}}");
        kx_clock_set(NOON_MS);
    }
    __real_view_close(view);
}

static const char *tags(void *mem, int n)
{
    char *text = talloc_strdup(mem, "[");
    for (int i = 0; i < TAGS; i++)
        text = talloc_asprintf_append_buffer(text, "%s%d", i == 0 ? "" : ",",
                                             n * TAGS + i);
    return talloc_strdup_append_buffer(text, "]");
}

/* The batch has many rows; it overwrites one of the expiring entries, removes
 * one and leaves one. */
TEST_WITH(views_between_slices_take_off_what_the_batch_overwrites, begin_totals,
          finish)
{
    struct story *s = *state;
    struct kx_mutation list[2 + LARGE] = {0};
    for (int n = 0; n < 3; n++)
        expire_later(s, n);
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"by_tag\",\"prefix\":[\"u\"],"
                     "\"fields\":[{\"path\":\"\",\"each\":true}]}"),
        KX_OK);
    list[0] = (struct kx_mutation){.type = KX_SET,
                                   .key = test_key(s->mem, "[\"a\",0]"),
                                   .value = test_json("20")};
    list[1] = (struct kx_mutation){.type = KX_DELETE,
                                   .key = test_key(s->mem, "[\"a\",1]")};
    for (int n = 0; n < LARGE; n++)
        list[2 + n] = (struct kx_mutation){
            .type = KX_SET,
            .key = test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", n)),
            .value = test_json(tags(s->mem, n))};
    struct kx_commit commit = {
        .mutations = list, .mutation_count = 2 + LARGE, .memory = s->mem};
    looks = differences = 0;
    between = s;
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    between = NULL;
    assert_true(looks > 5);
    assert_int_equal(differences, 0);
    assert_shown(s, "{\"count\":3,\"sum\":{\"\":\"26\"}}");
    kx_clock_set(LATER_MS);
    assert_shown(s, "{\"count\":2,\"sum\":{\"\":\"25\"}}");
}
