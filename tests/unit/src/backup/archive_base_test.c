/* A base of the archive is made while the store is used: nothing waits for it,
 * and what fails amid it leaves nothing wrong. The Makefile puts
 * __wrap_kx_backup_next where the core calls kx_backup_next, and likewise the
 * other two. */
#include "archive_story.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "backup/archive_names.h"
#include "backup/object_dir.h"
#include "commit/store_state.h"
#include "storage/log_files.h"

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
TEST_WITH(close_does_not_wait_for_a_base_in_progress, begin, finish_archive)
{
    struct story *s = *state;
    open_amid_a_base(s, &endless);
    test_store_close(&s->test);
    atomic_store(&endless, false);
    test_store_open(&s->test);
    wait_for_bases(s, 1, 0);
}

static off_t size_of_tail(const char *timeline)
{
    char path[ARCHIVE_PATH];
    struct stat about;
    uint32_t last;
    struct kx_fault fault;
    assert_int_equal(
        archive_last_log(object_store_of(NULL), timeline, &last, &fault),
        KX_OK);
    archive_tail_path(timeline, last, path);
    return stat(path, &about) == 0 ? about.st_size : 0;
}

/* Waits for something that another thread does; not for ever. */
static void wait_a_moment(uint64_t began_ns)
{
    assert_true(kx_monotonic_ns() - began_ns < UINT64_C(60000000000));
    usleep(10000);
}

TEST_WITH(archive_copies_log_while_making_a_base, begin, finish_archive)
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

TEST_WITH(archive_writes_log_tail_in_several_writes, begin, finish_archive)
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
TEST_WITH(archive_removes_remains_of_a_failed_base, begin, finish_archive)
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
TEST_WITH(unnamed_base_does_not_count_as_backup, begin, finish_archive)
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
    assert_int_equal(atomic_load(&s->test.store->stats.backup_s), 0);
    assert_int_equal(rmdir(name), 0);
    kx_clock_set(base.at_ms + 60000);
    while (atomic_load(&s->test.store->stats.backup_s) == 0)
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
TEST_WITH(archive_keeps_damaged_files_set_aside, begin, finish_archive)
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
