/* The archive of a store: what is a mark in the log and what is not, and when
 * it needs a new base. The Makefile puts __wrap_kx_backup_next where the core
 * calls kx_backup_next. */
#include "store.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "backup/archive_names.h"
#include "backup/archive_prune.h"
#include "backup/archive_restore.h"
#include "backup/archive_timeline.h"
#include "storage/log_marks.h"
#include "commit/store_state.h"

enum kx_status __real_kx_backup_next(struct kx_backup *backup,
                                     struct kx_buffer *out);
enum kx_status __wrap_kx_backup_next(struct kx_backup *backup,
                                     struct kx_buffer *out);

static atomic_bool endless; /* there is always more of a backup */
static atomic_bool broken;  /* it fails */
static atomic_int pieces;
static atomic_bool ended;  /* one has come to its end */
static atomic_bool halves; /* not more is written at once */

enum kx_status __wrap_kx_backup_next(struct kx_backup *backup,
                                     struct kx_buffer *out)
{
    atomic_fetch_add(&pieces, 1);
    if (atomic_load(&broken))
        return KX_FAILED;
    if (atomic_load(&endless))
        return KX_OK;
    enum kx_status status = __real_kx_backup_next(backup, out);
    atomic_store(&ended, status == KX_END);
    return status;
}

ssize_t __real_pwrite(int file, const void *bytes, size_t size, off_t place);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t place);

ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t place)
{
    if (atomic_load(&halves))
        size -= size / 2;
    return __real_pwrite(file, bytes, size, place);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);

static const char *_Atomic hidden; /* part of the names that access refuses */

int __wrap_access(const char *path, int mode)
{
    const char *part = atomic_load(&hidden);
    if (part == NULL || strstr(path, part) == NULL)
        return __real_access(path, mode);
    errno = EIO;
    return -1;
}

/* The store of a story again, with an archive or without. */
static void open_again(struct story *s, const char *archive)
{
    test_store_close(&s->test);
    s->test.options.archive = archive;
    test_store_open(&s->test);
}

static const char *archive_of(struct story *s)
{
    return talloc_asprintf(s->mem, "%s-archive", s->test.directory);
}

static int finish_archive(void **state)
{
    struct story *s = *state;
    test_remove(archive_of(s));
    return finish(state);
}

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

/* What a client writes lies in the log, too. */
static void a_value_is_no_mark(void **state)
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

struct bases {
    size_t count;
    int64_t last_ms; /* of the one that has most in it */
    uint64_t last_stamp;
};

static void count_base(void *target, const struct archive_base *base)
{
    struct bases *bases = target;
    bases->count++;
    if (base->stamp >= bases->last_stamp)
        bases->last_ms = base->at_ms;
    if (base->stamp >= bases->last_stamp)
        bases->last_stamp = base->stamp;
}

/* Waits until there are so many and the last was made at that time (0: at any);
 * not for ever. */
static void wait_for_bases(struct story *s, size_t count, int64_t last_ms)
{
    struct bases bases;
    uint64_t began_ns = kx_monotonic_ns();
    do {
        assert_true(kx_monotonic_ns() - began_ns < UINT64_C(60000000000));
        usleep(10000);
        bases = (struct bases){.count = 0};
        archive_all_bases(archive_of(s), count_base, &bases);
    } while (bases.count != count ||
             (last_ms != 0 && bases.last_ms != last_ms));
}

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
static void a_gap_needs_a_new_base(void **state)
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

static void make_file(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/* Log files 3 and 4 are missing, 6 is the first that the base needs. */
static void old_log_files_go_across_a_gap(void **state)
{
    struct story *s = *state;
    const char *timeline = archive_of(s);
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
    archive_remove_old(timeline, 1);
    for (int i = 0; i < 5; i++)
        assert_false(is_there(timeline, gone[i]));
    for (int i = 0; i < 4; i++)
        assert_true(is_there(timeline, kept[i]));
}

/* The archive ends with the base; the files that were put aside begin with log
 * file 3. */
static void a_gap_before_what_was_put_aside_is_told(void **state)
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

static void a_clock_that_was_set_back_keeps_no_base_away(void **state)
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
static void a_clock_that_was_set_back_leads_to_the_last_base(void **state)
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

/* Where the directory should be there is something else, for the time being:
 * nothing is taken out of the data directory, and no log file is lost. */
static void an_archive_that_is_not_there(void **state)
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

/* Opens a store whose backups do not come to their end, and returns when one
 * has begun. */
static void open_amid_a_base(struct story *s, atomic_bool *how)
{
    atomic_store(how, true);
    atomic_store(&pieces, 0);
    open_again(s, archive_of(s));
    while (atomic_load(&pieces) == 0)
        usleep(1000);
}

/* A large one takes hours. */
static void closing_does_not_wait_for_a_base(void **state)
{
    struct story *s = *state;
    open_amid_a_base(s, &endless);
    test_store_close(&s->test);
    atomic_store(&endless, false);
    test_store_open(&s->test);
    wait_for_bases(s, 1, 0);
}

/* The directory of the story's store in its archive. */
static char *timeline_of(struct story *s)
{
    struct kx_fault fault;
    char *timeline = talloc_array(s->mem, char, ARCHIVE_PATH);
    assert_int_equal(
        archive_timeline(archive_of(s), s->test.directory, timeline, &fault),
        KX_OK);
    return timeline;
}

static off_t size_of_tail(const char *timeline)
{
    char path[ARCHIVE_PATH];
    struct stat about;
    uint32_t last;
    assert_true(archive_last_log(timeline, &last));
    archive_tail_path(timeline, last, path);
    return stat(path, &about) == 0 ? about.st_size : 0;
}

/* Waits for something that another thread does; not for ever. */
static void wait_a_moment(uint64_t began_ns)
{
    assert_true(kx_monotonic_ns() - began_ns < UINT64_C(60000000000));
    usleep(10000);
}

static void the_log_is_copied_while_a_base_is_made(void **state)
{
    struct story *s = *state;
    open_amid_a_base(s, &endless);
    off_t before = size_of_tail(timeline_of(s));
    uint64_t began_ns = kx_monotonic_ns();
    assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", "1"), KX_OK);
    while (size_of_tail(timeline_of(s)) <= before)
        wait_a_moment(began_ns);
    test_store_close(&s->test);
    atomic_store(&endless, false);
    test_store_open(&s->test);
}

static uint32_t end_of_log(struct story *s)
{
    struct log_place end;
    assert_int_equal(log_files_end(s->test.store->env, &end), KX_OK);
    return end.offset;
}

static void a_part_of_the_log_may_be_written_in_parts(void **state)
{
    struct story *s = *state;
    atomic_store(&halves, true);
    open_again(s, archive_of(s));
    uint64_t began_ns = kx_monotonic_ns();
    assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", "1"), KX_OK);
    while (size_of_tail(timeline_of(s)) != end_of_log(s))
        wait_a_moment(began_ns);
    atomic_store(&halves, false);
}

/* On a full disk the log would have no room. */
static void what_there_is_of_a_base_that_failed_goes(void **state)
{
    struct story *s = *state;
    open_amid_a_base(s, &broken);
    char *part = talloc_asprintf(s->mem, "%s/base.part", timeline_of(s));
    uint64_t began_ns = kx_monotonic_ns();
    while (access(part, F_OK) == 0)
        wait_a_moment(began_ns);
    atomic_store(&broken, false);
}

/* There is something in the place of its name. */
static void a_base_that_gets_no_name_is_no_backup(void **state)
{
    struct story *s = *state;
    struct archive_base base = {.first_log = 1, .at_ms = 1700000000000};
    kx_clock_set(base.at_ms);
    archive_base_name(&base);
    atomic_store(&ended, false);
    open_amid_a_base(s, &endless);
    char *part = talloc_asprintf(s->mem, "%s/base.part", timeline_of(s));
    char *name = talloc_asprintf(s->mem, "%s/%s", timeline_of(s), base.name);
    assert_int_equal(mkdir(name, 0700), 0);
    atomic_store(&endless, false);
    uint64_t began_ns = kx_monotonic_ns();
    while (!atomic_load(&ended) || access(part, F_OK) == 0)
        wait_a_moment(began_ns);
    assert_int_equal(atomic_load(&s->test.store->counters.backup_s), 0);
    assert_int_equal(rmdir(name), 0);
    kx_clock_set(base.at_ms + 60000);
    while (atomic_load(&s->test.store->counters.backup_s) == 0)
        wait_a_moment(began_ns);
}

static void move(const char *from, const char *to, const char *name)
{
    char old[512], new[512];
    snprintf(old, sizeof old, "%s/%s", from, name);
    snprintf(new, sizeof new, "%s/%s", to, name);
    assert_int_equal(rename(old, new), 0);
}

/* A recovery stopped when a part of the log was restored. The restored part
 * must not replace the files that were put aside: only these have the last
 * commit. */
static void what_was_put_aside_stays(void **state)
{
    struct story *s = *state;
    struct kx_fault fault;
    char tail[ARCHIVE_PATH];
    const char *directory = s->test.directory;
    const char *aside = talloc_asprintf(s->mem, "%s/damaged-1", directory);
    const char *const names[] = {"entries.db", "expiry.db", "catalog.db",
                                 "timeline", "log.0000000001"};
    open_again(s, archive_of(s));
    wait_for_bases(s, 1, 0);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_store_close(&s->test);
    archive_tail_path(timeline_of(s), 1, tail);
    assert_int_equal(remove(tail), 0);
    assert_int_equal(mkdir(aside, 0700), 0);
    for (int i = 0; i < 5; i++)
        move(directory, aside, names[i]);
    make_file(directory, "restoring");
    make_file(directory, "log.0000000001");
    atomic_store(&hidden, "damaged-1/log.");
    enum kx_status status = kx_open(&s->test.options, &s->test.store, &fault);
    atomic_store(&hidden, NULL);
    if (status == KX_OK)
        kx_close(s->test.store);
    test_store_open(&s->test);
    assert_int_not_equal(status, KX_OK);
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_no_mark, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(a_gap_needs_a_new_base, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(old_log_files_go_across_a_gap, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(a_gap_before_what_was_put_aside_is_told,
                                        begin, finish_archive),
        cmocka_unit_test_setup_teardown(
            a_clock_that_was_set_back_keeps_no_base_away, begin,
            finish_archive),
        cmocka_unit_test_setup_teardown(
            a_clock_that_was_set_back_leads_to_the_last_base, begin,
            finish_archive),
        cmocka_unit_test_setup_teardown(an_archive_that_is_not_there, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(closing_does_not_wait_for_a_base, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(the_log_is_copied_while_a_base_is_made,
                                        begin, finish_archive),
        cmocka_unit_test_setup_teardown(
            a_part_of_the_log_may_be_written_in_parts, begin, finish_archive),
        cmocka_unit_test_setup_teardown(
            what_there_is_of_a_base_that_failed_goes, begin, finish_archive),
        cmocka_unit_test_setup_teardown(what_was_put_aside_stays, begin,
                                        finish_archive),
        cmocka_unit_test_setup_teardown(a_base_that_gets_no_name_is_no_backup,
                                        begin, finish_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
