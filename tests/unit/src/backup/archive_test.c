/* The archive of a store: what is a mark in the log and what is not, what a gap
 * in its log or a clock that was set back means, and when it needs a new base.
 */
#include "archive_story.h"

#include <sys/stat.h>

#include "backup/archive_names.h"
#include "backup/archive_prune.h"
#include "backup/archive_restore.h"
#include "backup/object_dir.h"
#include "storage/log_files.h"

struct seen {
    size_t count;
    uint64_t last;
};

static bool see(void *target, const struct log_mark *mark)
{
    struct seen *seen = target;
    seen->count++;
    seen->last = mark->stamp;
    return true;
}

/* The log also holds the values of clients, which may look like a mark. */
TEST_WITH(value_that_looks_like_a_mark_is_not_a_log_mark, begin, finish_archive)
{
    struct story *s = *state;
    struct seen seen = {.count = 0};
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_set(&s->test, s->mem, "[\"b\"]", "\"kindex-mark 99 5.\"");
    test_set(&s->test, s->mem, "[\"kindex-mark 98 5.\"]", "1");
    test_store_close(&s->test);
    enum kx_status status = log_marks_read(s->test.directory, see, &seen, NULL);
    test_store_open(&s->test);
    assert_int_equal(status, KX_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.last, 3);
}

/* ---- Bases -------------------------------------------------------------- */

/* More than two log files. */
static void write_much(struct story *s)
{
    size_t size = 1000000;
    char *text = talloc_array(s->mem, char, size + 1);
    memset(text, '1', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    for (int i = 0; i < 40; i++)
        assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", text), KX_OK);
}

/* The log files that came while the archive was not there are not in it: the
 * store is not damaged, but the archive leads to an older state of it. */
TEST_WITH(archive_makes_new_base_after_a_gap_in_the_log, begin, finish_archive)
{
    struct story *s = *state;
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    wait_for_bases(s, 1, 0);
    open_again(s, archive_of(s));
    wait_for_bases(s, 1, 0);
    open_again(s, NULL);
    write_much(s);
    open_again(s, archive_of(s));
    assert_int_equal(strlen(test_get(&s->test, s->mem, "[\"a\"]")), 1000000);
    wait_for_bases(s, 2, 0);
}

static bool is_there(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void count_call(void *context)
{
    ++*(int *)context;
}

/* Log files 3 and 4 are missing, 6 is the first that the base needs. */
TEST_WITH(archive_prunes_log_files_across_a_gap, begin, finish_archive)
{
    struct story *s = *state;
    const char *timeline = archive_of(s);
    int calls = 0;
    struct archive_base bases[] = {{.stamp = 1, .first_log = 1, .at_ms = 1},
                                   {.stamp = 2, .first_log = 6, .at_ms = 2}};
    const char *const gone[] = {
        "log.0000000001.zst",  "log.0000000002.zst", "log.0000000005.zst",
        "log.0000000005.tail", bases[0].name,
    };
    const char *const kept[] = {"log.0000000006.zst", "log.0000000007.tail",
                                bases[1].name, "notes"};
    assert_int_equal(mkdir(timeline, 0700), 0);
    for (int i = 0; i < 2; i++)
        archive_base_name(&bases[i]);
    for (int i = 0; i < 5; i++)
        make_file(timeline, gone[i]);
    for (int i = 0; i < 4; i++)
        make_file(timeline, kept[i]);
    archive_remove_old(object_store_of(NULL), timeline, 1, count_call, &calls);
    assert_int_equal(calls, 5);
    for (int i = 0; i < 5; i++)
        assert_false(is_there(timeline, gone[i]));
    for (int i = 0; i < 4; i++)
        assert_true(is_there(timeline, kept[i]));
}

/* The archive ends with the base; the files that were put aside begin with log
 * file 3. */
TEST_WITH(restore_reports_a_gap_before_logs_set_aside, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    uint64_t known = 0;
    const char *aside = talloc_asprintf(s->mem, "%s/aside", archive_of(s));
    struct kx_restore restore = {
        .source = archive_of(s),
        .directory = talloc_asprintf(s->mem, "%s/new", archive_of(s))};
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    wait_for_bases(s, 1, 0);
    open_again(s, NULL);
    assert_int_equal(mkdir(aside, 0700), 0);
    assert_int_equal(mkdir(restore.directory, 0700), 0);
    make_file(aside, "log.0000000003");
    assert_int_equal(archive_restore_with(&restore, aside, &known, &fault),
                     KX_BAD_ARCHIVE);
    assert_non_null(strstr(fault.detail, "log file 2 is missing"));
}

/* The size of an object. A log file that is not there is complete directly
 * after that, as a server makes it meanwhile. */
static enum kx_status size_before(void *self, const char *path,
                                  uint64_t *size_out, struct kx_fault *fault)
{
    const struct kx_object_store *directory = object_store_of(NULL);
    enum kx_status status =
        directory->size(directory->self, path, size_out, fault);
    char late[512];
    (void)self;
    snprintf(late, sizeof late, "%s.late", path);
    if (status == KX_ABSENT)
        rename(late, path);
    return status;
}

TEST_WITH(restore_reads_log_file_completed_meanwhile, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct kx_object_store objects = *object_store_of(NULL);
    uint64_t known = 0;
    struct kx_restore restore = {
        .source = archive_of(s),
        .objects = &objects,
        .directory = talloc_asprintf(s->mem, "%s/new", archive_of(s))};
    objects.size = size_before;
    open_again(s, archive_of(s));
    wait_for_bases(s, 1, 0);
    write_much(s);
    test_set(&s->test, s->mem, "[\"b\"]", "1");
    uint64_t last = test_stamp(&s->test, s->mem, "[\"b\"]");
    const char *file =
        talloc_asprintf(s->mem, "%s/log.0000000003.zst", timeline_of(s));
    open_again(s, NULL);
    assert_int_equal(rename(file, talloc_asprintf(s->mem, "%s.late", file)), 0);
    assert_int_equal(mkdir(restore.directory, 0700), 0);
    assert_int_equal(archive_restore(&restore, &known, &fault), KX_OK);
    assert_int_equal(known, last);
}

/* The server puts the whole file in the place of its part, between two looks of
 * the standby: that is no gap. */
TEST_WITH(standby_reads_log_file_completed_meanwhile, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct kx_object_store objects = *object_store_of(NULL);
    struct kx_holder holder;
    struct kx_store *standby;
    struct kx_options options;
    struct kx_restore restore = {
        .source = archive_of(s),
        .directory = talloc_asprintf(s->mem, "%s/new", archive_of(s)),
        .follows = true};
    s->test.options.followed = true;
    open_again(s, archive_of(s));
    wait_for_bases(s, 1, 0);
    assert_int_equal(kx_restore(&restore, &fault), KX_OK);
    write_much(s);
    const char *file =
        talloc_asprintf(s->mem, "%s/log.0000000002.zst", timeline_of(s));
    open_again(s, NULL);
    assert_int_equal(rename(file, talloc_asprintf(s->mem, "%s.late", file)), 0);
    kx_options_default(&options);
    options.directory = restore.directory;
    options.follow = archive_of(s);
    options.objects = &objects;
    objects.size = size_before;
    assert_int_equal(kx_join(&options, &standby, &fault), KX_OK);
    assert_int_equal(kx_take(standby, &holder, &fault), KX_IN_USE);
    kx_close(standby);
}

/* An archive that has any log file that it is asked for: each that is not
 * listed is another one of the archive. */
static const char *stand_in;
static int stood_in;
enum { STOOD_IN_MAX = 20 };

static const char *path_of_any(const char *path)
{
    bool invented = access(path, F_OK) != 0 && strstr(path, "/log.") != NULL &&
                    strstr(path, ".zst") != NULL;
    stood_in += invented;
    return invented && stood_in <= STOOD_IN_MAX ? stand_in : path;
}

static enum kx_status size_of_any(void *self, const char *path,
                                  uint64_t *size_out, struct kx_fault *fault)
{
    const struct kx_object_store *directory = object_store_of(NULL);
    (void)self;
    return directory->size(directory->self, path_of_any(path), size_out, fault);
}

static enum kx_status get_any(void *self, const char *path,
                              kx_object_bytes_fn *bytes, void *target,
                              struct kx_fault *fault)
{
    const struct kx_object_store *directory = object_store_of(NULL);
    (void)self;
    return directory->get(directory->self, path_of_any(path), bytes, target,
                          fault);
}

TEST_WITH(only_listed_log_files_are_restored, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct kx_object_store objects = *object_store_of(NULL);
    uint64_t known = 0;
    struct kx_restore restore = {
        .source = archive_of(s),
        .objects = &objects,
        .directory = talloc_asprintf(s->mem, "%s/new", archive_of(s))};
    objects.is_directory = false;
    objects.size = size_of_any;
    objects.get = get_any;
    open_again(s, archive_of(s));
    wait_for_bases(s, 1, 0);
    write_much(s);
    stand_in = talloc_asprintf(s->mem, "%s/log.0000000002.zst", timeline_of(s));
    open_again(s, NULL);
    stood_in = 0;
    assert_int_equal(mkdir(restore.directory, 0700), 0);
    assert_int_equal(archive_restore(&restore, &known, &fault), KX_BAD_ARCHIVE);
    assert_in_range(stood_in, 1, 2); /* of the last file, which is a part */
}

TEST_WITH(archive_makes_base_after_clock_was_set_back, begin, finish_archive)
{
    struct story *s = *state;
    kx_clock_set(2000000000000);
    s->test.options.archive_keep = 1;
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    wait_for_bases(s, 1, 2000000000000);
    test_set(&s->test, s->mem, "[\"a\"]", "2");
    kx_clock_set(1700000000000);
    wait_for_bases(s, 1, 1700000000000);
}

/* After the base of the later time there is a gap. */
TEST_WITH(restore_uses_last_base_after_clock_was_set_back, begin,
          finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct kx_restore restore = {
        .source = archive_of(s),
        .directory = talloc_asprintf(s->mem, "%s/new", archive_of(s))};
    kx_clock_set(2000000000000);
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    wait_for_bases(s, 1, 2000000000000);
    open_again(s, NULL);
    write_much(s);
    kx_clock_set(1700000000000);
    open_again(s, archive_of(s));
    wait_for_bases(s, 2, 1700000000000);
    test_set(&s->test, s->mem, "[\"b\"]", "2");
    test_store_close(&s->test);
    enum kx_status status = kx_restore(&restore, &fault);
    test_store_open(&s->test);
    assert_int_equal(status, KX_OK);
    assert_int_equal(restore.at_ms, 1700000000000);
}

/* A file is in the place of the archive's directory for a while: nothing is
 * removed from the data directory, and no log file is lost. */
TEST_WITH(store_opens_without_reachable_archive, begin, finish_archive)
{
    struct story *s = *state;
    uint32_t first, last;
    const char *moved = talloc_asprintf(s->mem, "%s-hidden", archive_of(s));
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    wait_for_bases(s, 1, 0);
    assert_int_equal(rename(archive_of(s), moved), 0);
    fclose(fopen(archive_of(s), "w"));
    write_much(s);
    test_store_close(&s->test);
    struct kx_store *store = NULL;
    enum kx_status status = kx_open(&s->test.options, &store, NULL);
    assert_true(log_files_span(s->test.directory, &first, &last));
    assert_int_equal(remove(archive_of(s)), 0);
    assert_int_equal(rename(moved, archive_of(s)), 0);
    test_store_open(&s->test);
    assert_int_not_equal(status, KX_OK);
    assert_int_equal(first, 1);
    assert_in_range(last, 3, 10);
    assert_int_equal(strlen(test_get(&s->test, s->mem, "[\"a\"]")), 1000000);
}
