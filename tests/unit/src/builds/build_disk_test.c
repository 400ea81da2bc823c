/* Builds of more index entries than their memory holds, beside commits that
 * change what was gathered. The Makefile puts __wrap_X where the core calls X.
 */
#include "together.h"

#include <stdatomic.h>

#include "builds/run_file.h"
#include "commit/store_state.h"
#include "storage/disk_guard.h"

enum { ENTRIES = 8000, COMMIT = 1000, CHANGED = 300, MEMORY = 64 << 10 };

static atomic_int files; /* that were made for rows */
static atomic_int full; /* so often there is too little space, from a file on */
static atomic_int fills; /* what full becomes then, once */

struct run_file *__real_run_file_create(void *mem, const char *directory);
struct run_file *__wrap_run_file_create(void *mem, const char *directory);

struct run_file *__wrap_run_file_create(void *mem, const char *directory)
{
    atomic_fetch_add(&files, 1);
    atomic_store(&full, atomic_exchange(&fills, 0));
    return __real_run_file_create(mem, directory);
}

enum engine_space __real_disk_guard_space(const struct disk_guard *disk);
enum engine_space __wrap_disk_guard_space(const struct disk_guard *disk);

enum engine_space __wrap_disk_guard_space(const struct disk_guard *disk)
{
    if (atomic_load(&full) == 0)
        return __real_disk_guard_space(disk);
    atomic_fetch_sub(&full, 1);
    return SPACE_LOW;
}

static const char *numbers(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d,\"m\":%d}", n, -n);
}

static struct kx_index_info until_ready(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_READY);
    return info;
}

/* Every 25th entry gets other numbers. */
static void change_some(struct story *s)
{
    for (int n = 0; n < CHANGED * 25; n += 25)
        test_set(&s->test, s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", n),
                 numbers(s->mem, n + ENTRIES));
}

static void look_up(struct story *s, int n, bool there)
{
    const char *one = talloc_asprintf(s->mem, "[\"one\",%d]", n);
    const char *two =
        talloc_asprintf(s->mem, "[\"two\",%d,%d]", -n, n % ENTRIES);
    assert_int_equal(test_get(&s->test, s->mem, one) != NULL, there);
    assert_int_equal(test_get(&s->test, s->mem, two) != NULL, there);
}

static void build_beside_commits(struct story *s)
{
    s->test.store->writer.build.memory = MEMORY;
    atomic_store(&files, 0);
    for (int n = 0; n < ENTRIES; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, numbers);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"one\",\"prefix\":[\"u\"],"
                 "\"fields\":[\"/n\"],\"unique\":true}");
    test_declare(&s->test, s->mem,
                 "{\"name\":\"two\",\"prefix\":[\"u\"],"
                 "\"fields\":[\"/m\"],\"store\":\"value\"}");
    change_some(s);
    assert_int_equal(until_ready(s, "one").entries, ENTRIES);
    assert_int_equal(until_ready(s, "two").entries, ENTRIES);
    for (int n = 0; n < ENTRIES; n++) {
        bool changed = n % 25 == 0 && n < CHANGED * 25;
        look_up(s, n, !changed);
        look_up(s, n + ENTRIES, changed);
    }
}

TEST_WITH(rows_beyond_build_memory_are_sorted_on_disk, begin, finish)
{
    struct story *s = *state;
    build_beside_commits(s);
    assert_true(atomic_load(&files) > 0);
}

TEST_WITH(build_without_disk_file_takes_several_scans, begin, finish)
{
    struct story *s = *state;
    s->test.store->writer.build.directory = "/nowhere";
    build_beside_commits(s);
}

/* Otherwise commits would be refused while it is built. */
TEST_WITH(build_leaves_disk_floor_free, begin, finish)
{
    struct story *s = *state;
    s->test.store->writer.build.disk_floor = UINT64_MAX / 2;
    build_beside_commits(s);
    assert_int_equal(atomic_load(&files), 0);
}

/* Otherwise it could fill the disk again, and never end. */
TEST_WITH(build_after_full_disk_takes_several_scans, begin, finish)
{
    struct story *s = *state;
    s->test.store->writer.build.memory = MEMORY;
    atomic_store(&files, 0);
    atomic_store(&fills, 5);
    for (int n = 0; n < ENTRIES; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, numbers);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"one\",\"prefix\":[\"u\"],"
                 "\"fields\":[\"/n\"]}");
    assert_int_equal(until_ready(s, "one").entries, ENTRIES);
    assert_int_equal(atomic_load(&files), 1);
}
