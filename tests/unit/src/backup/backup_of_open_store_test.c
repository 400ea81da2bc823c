/* Backups of an open store: files that become shorter and longer while they are
 * copied, and the versionstamps of restored stores. */
#include <sys/stat.h>

#include "backup/backup.h"
#include "bdb/page_check.h"
#include "store.h"

/* Each large entry has its own page, and these pages are the last of the file.
 */
enum { ENTRIES = 100, LARGE = 40, LARGE_BYTES = 3000, CUT = 8 };

/* In one commit. */
static void set_many(struct test_store *test, void *mem, const char *name,
                     int count, int bytes)
{
    struct kx_mutation mutations[ENTRIES];
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = (size_t)count, .memory = mem};
    char *value = talloc_asprintf(mem, "\"%0*d\"", bytes, 7);
    for (int i = 0; i < count; i++) {
        char *key = talloc_asprintf(mem, "[\"%s\",%d]", name, i);
        mutations[i] = (struct kx_mutation){.type = KX_SET,
                                            .key = test_key(mem, key),
                                            .value = test_json(value)};
    }
    assert_int_equal(test_commit(test, &commit), KX_OK);
}

static void fill(struct test_store *test, void *mem)
{
    set_many(test, mem, "small", ENTRIES, 50);
    set_many(test, mem, "large", LARGE, LARGE_BYTES);
}

static off_t length(const struct test_store *test)
{
    char path[100];
    struct stat about;
    snprintf(path, sizeof path, "%s/entries.db", test->directory);
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* The file is cut in the middle of the commit; with `again` it grows again,
 * with holes, because the new pages are not written yet. */
static void cut(struct test_store *test, void *mem, bool again)
{
    off_t before = length(test);
    for (int i = 1; i <= CUT; i++) {
        char key[32];
        snprintf(key, sizeof key, "[\"large\",%d]", LARGE - i);
        assert_int_equal(test_delete(test, mem, key), KX_OK);
    }
    assert_true(length(test) <= before - CUT * PAGE_BYTES);
    if (again)
        set_many(test, mem, "large", LARGE, LARGE_BYTES);
}

enum { NEVER = -1 };

/* Makes a backup, cuts the file before the step cut_at, and returns the number
 * of steps. */
static int save(struct test_store *test, void *mem, const char *path,
                int cut_at, uint64_t *stamp_out)
{
    struct kx_backup *backup;
    struct kx_buffer out;
    FILE *file = fopen(path, "wb");
    enum kx_status status = kx_backup_begin(test->store, mem, &backup, NULL);
    kx_buffer_init(&out, backup);
    assert_int_equal(status, KX_OK);
    int step = 0;
    for (; status == KX_OK; step++) {
        if (step == cut_at)
            cut(test, mem, step % 2 == 1);
        out.size = 0;
        status = kx_backup_next(backup, &out);
        assert_int_equal(fwrite(out.data, 1, out.size, file), out.size);
    }
    assert_int_equal(status, KX_END);
    assert_int_equal(fclose(file), 0);
    *stamp_out = backup_stamp(backup);
    talloc_free(backup);
    return step;
}

/* From then on it is the store that `test` is about. */
static void move_to(struct test_store *test, const char *directory)
{
    test_store_remove(test);
    memcpy(test->directory, directory, strlen(directory) + 1);
    test_store_open(test);
}

static size_t size_of(struct test_store *test, void *mem, const char *name,
                      int number)
{
    char *key = talloc_asprintf(mem, "[\"%s\",%d]", name, number);
    const char *value = test_get(test, mem, key);
    return value == NULL ? 0 : strlen(value);
}

/* The backup must have the state of its versionstamp: before, during or after
 * the cut. */
static void check(struct test_store *test, void *mem, uint64_t stamp)
{
    int missing = 0;
    if (stamp > 2 && stamp <= 2 + CUT)
        missing = (int)stamp - 2;
    for (int i = 0; i < ENTRIES; i++)
        assert_int_equal(size_of(test, mem, "small", i), 52);
    for (int i = 0; i < LARGE; i++)
        assert_int_equal(size_of(test, mem, "large", i),
                         i < LARGE - missing ? LARGE_BYTES + 2 : 0);
    fill(test, mem);
}

/* False: the backup has fewer steps. */
static bool cut_at(void *mem, int step)
{
    struct test_store test;
    struct kx_fault fault;
    char path[100], restored[100];
    uint64_t stamp;
    test_store_new(&test);
    fill(&test, mem);
    /* All pages are in the file. */
    test_store_close(&test);
    test_store_open(&test);
    snprintf(path, sizeof path, "%s.backup", test.directory);
    snprintf(restored, sizeof restored, "%s.restored", test.directory);
    bool in_time = save(&test, mem, path, step, &stamp) > step;
    struct kx_restore restore = {.source = path, .directory = restored};
    assert_int_equal(kx_restore(&restore, &fault), KX_OK);
    assert_int_equal(restore.stamp, stamp);
    move_to(&test, restored);
    check(&test, mem, stamp);
    test_store_remove(&test);
    unlink(path);
    return in_time;
}

TEST(backup_survives_truncation_of_a_copied_file)
{
    int step = 0;
    bool in_time = true;
    for (; in_time; step++) {
        void *mem = talloc_new(*state);
        in_time = cut_at(mem, step);
        talloc_free(mem);
    }
    assert_true(step > 10);
}

/* Restores the backup at that time, and returns the first versionstamp that the
 * restored store gives. */
static uint64_t first_stamp(void *mem, const char *path, int64_t now_ms)
{
    struct test_store test;
    struct kx_fault fault;
    char restored[100];
    test_store_new(&test);
    snprintf(restored, sizeof restored, "%s.restored", test.directory);
    struct kx_restore restore = {.source = path, .directory = restored};
    kx_clock_set(now_ms);
    assert_int_equal(kx_restore(&restore, &fault), KX_OK);
    move_to(&test, restored);
    assert_int_equal(test_set(&test, mem, "[1]", "1"), KX_OK);
    uint64_t stamp = test_stamp(&test, mem, "[1]");
    test_store_remove(&test);
    kx_clock_set(0);
    return stamp;
}

/* The commits of the lost store that the backup lacks are fewer than these. */
TEST(versionstamps_leap_where_the_clock_is_little_ahead_of_the_backup)
{
    static const int64_t NOW_MS = 1700000000000;
    static const uint64_t LOST_MOST = UINT64_C(1) << 30;
    struct test_store test;
    char path[100], later[100], restored[100];
    struct kx_fault fault;
    uint64_t stamp;
    void *mem = talloc_new(*state);
    test_store_new(&test);
    fill(&test, mem);
    snprintf(path, sizeof path, "%s.backup", test.directory);
    snprintf(later, sizeof later, "%s.later", test.directory);
    snprintf(restored, sizeof restored, "%s.restored", test.directory);
    save(&test, mem, path, NEVER, &stamp);
    struct kx_restore restore = {.source = path, .directory = restored};
    kx_clock_set(NOW_MS);
    assert_int_equal(kx_restore(&restore, &fault), KX_OK);
    move_to(&test, restored);
    fill(&test, mem);
    save(&test, mem, later, NEVER, &stamp);
    test_store_remove(&test);
    assert_true(stamp > (uint64_t)NOW_MS << 10);
    uint64_t first = first_stamp(mem, later, NOW_MS + 1);
    assert_true(first > stamp + LOST_MOST && first < UINT64_C(1) << 53);
    assert_int_not_equal(first, first_stamp(mem, later, NOW_MS + 2));
    unlink(path);
    unlink(later);
    talloc_free(mem);
}

/* 2^10 for each millisecond of the clock; 2^40 above the backup if the clock is
 * behind it. */
TEST(restored_stores_continue_with_different_versionstamps)
{
    static const int64_t SECOND_MS = 1000, NOW_MS = 1700000000000;
    struct test_store test;
    char path[100];
    uint64_t stamp;
    void *mem = talloc_new(*state);
    test_store_new(&test);
    fill(&test, mem);
    snprintf(path, sizeof path, "%s.backup", test.directory);
    save(&test, mem, path, NEVER, &stamp);
    test_store_remove(&test);
    uint64_t first = first_stamp(mem, path, NOW_MS);
    assert_true(first > UINT64_C(1) << 40 && first < UINT64_C(1) << 53);
    assert_true(first_stamp(mem, path, NOW_MS + SECOND_MS) >=
                first + (SECOND_MS << 9));
    assert_int_equal(first_stamp(mem, path, -1),
                     (UINT64_C(1) << 40) + stamp + 1);
    unlink(path);
    talloc_free(mem);
}
