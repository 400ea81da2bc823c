/* Pages that recovery will read: the pages named by the log are compared with
 * those that a checkpoint writes, and looked for in the page cache. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bdb/page_check.h"
#include "storage/log_files.h"
#include "storage/recovery.h"
#include "store.h"

enum {
    ROWS = 6000,
    ROW_BYTES = 700,
    LARGE_BYTES = 30000, /* on pages of their own */
    LARGE_EACH = 100,    /* of the rows that change, one is so large */
    CHANGES = 1000,
    PAGES_MAX = 20000,
    DAMAGES = 40,
    PATIENCE_MS = 20000
};

struct foretold {
    bool pages[PAGES_MAX];
    size_t count;
    size_t most; /* then it is enough */
};

static bool note(void *target, const char *file, uint32_t page)
{
    struct foretold *foretold = target;
    if (strcmp(file, "catalog.db") == 0 && page < PAGES_MAX)
        foretold->pages[page] = true;
    return ++foretold->count < foretold->most;
}

static void put(struct story *s, struct env *env, int n, size_t size)
{
    char key[16];
    char *value = talloc_zero_size(s->mem, size);
    snprintf(key, sizeof key, "test%08d", n);
    memset(value, n % 127, size);
    test_put(env, key, kx_slice(value, size));
    talloc_free(value);
}

static struct env *open_filled(struct story *s)
{
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    for (int n = 0; n < ROWS; n++)
        put(s, env, 2 * n, n % LARGE_EACH == 0 ? LARGE_BYTES : ROW_BYTES);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    return env;
}

/* Scattered rows get another size, and there are new ones. All of that is in
 * the log. */
static void change(struct story *s, struct env *env)
{
    for (int n = 0; n < CHANGES; n++) {
        int row = n * 7919 % ROWS;
        size_t size = row % LARGE_EACH == 0 ? LARGE_BYTES - 9 : ROW_BYTES - 9;
        put(s, env, 2 * row + (n % 50 == 0), size);
    }
    assert_int_equal(env_flush(env), KX_OK);
}

static struct env *open_changed(struct story *s)
{
    struct env *env = open_filled(s);
    change(s, env);
    return env;
}

static int open_catalog(struct story *s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/catalog.db", s->test.directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static uint8_t *read_catalog(struct story *s, size_t *size_out)
{
    struct stat about;
    int fd = open_catalog(s);
    assert_int_equal(fstat(fd, &about), 0);
    uint8_t *bytes = talloc_size(s->mem, (size_t)about.st_size);
    assert_int_equal(pread(fd, bytes, (size_t)about.st_size, 0), about.st_size);
    close(fd);
    *size_out = (size_t)about.st_size;
    return bytes;
}

TEST_WITH(recovery_pages_lists_changed_pages, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    struct foretold *foretold = talloc_zero(s->mem, struct foretold);
    size_t size, later_size, changed = 0, missed = 0, idle = 0;
    uint8_t *before = read_catalog(s, &size);
    change(s, env);
    foretold->most = SIZE_MAX;
    assert_int_equal(recovery_pages(s->test.directory, note, foretold), KX_OK);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    uint8_t *after = read_catalog(s, &later_size);
    assert_true(later_size >= size && size / PAGE_BYTES <= PAGES_MAX);
    for (size_t page = 1; page < size / PAGE_BYTES; page++) {
        bool differs = memcmp(before + page * PAGE_BYTES,
                              after + page * PAGE_BYTES, PAGE_BYTES) != 0;
        changed += differs;
        missed += differs && !foretold->pages[page];
        idle += !differs && foretold->pages[page];
    }
    assert_true(changed > CHANGES / 2);
    assert_true(missed <= changed / 20);
    assert_int_equal(idle, 0);
    env_close(env);
    test_store_open(&s->test);
}

TEST_WITH(recovery_pages_stops_when_callback_returns_false, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_changed(s);
    struct foretold *foretold = talloc_zero(s->mem, struct foretold);
    foretold->most = 10;
    assert_int_equal(recovery_pages(s->test.directory, note, foretold), KX_OK);
    assert_int_equal(foretold->count, 10);
    assert_int_equal(recovery_pages("/nowhere", note, foretold), KX_FAILED);
    env_close(env);
    test_store_open(&s->test);
}

static size_t pages_in_memory(int fd, size_t size)
{
    size_t count = 0;
    uint8_t *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    uint8_t *pages = malloc(size / PAGE_BYTES + 1);
    assert_true(mapped != MAP_FAILED && pages != NULL);
    assert_int_equal(mincore(mapped, size, pages), 0);
    for (size_t i = 0; i < size / PAGE_BYTES; i++)
        count += pages[i] & 1;
    free(pages);
    munmap(mapped, size);
    return count;
}

/* In a directory on the disk: files in memory are never out of it. */
TEST_WITH(recovery_prefetch_brings_pages_into_memory, begin, finish)
{
    struct story *s = *state;
    test_store_remove(&s->test);
    test_store_new_at(&s->test, "/var/tmp");
    struct env *env = open_changed(s);
    struct foretold *foretold = talloc_zero(s->mem, struct foretold);
    size_t size, wanted = 0;
    read_catalog(s, &size);
    int fd = open_catalog(s);
    foretold->most = SIZE_MAX;
    assert_int_equal(recovery_pages(s->test.directory, note, foretold), KX_OK);
    for (size_t page = 0; page < size / PAGE_BYTES; page++)
        wanted += foretold->pages[page];
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    size_t left = pages_in_memory(fd, size);
    if (left > wanted / 2)
        print_message("the system keeps %zu pages: nothing to see\n", left);
    struct recovery_prefetch *ahead =
        recovery_prefetch_start(s->mem, s->test.directory);
    assert_non_null(ahead);
    size_t got = 0;
    for (int ms = 0; ms < PATIENCE_MS && got < wanted; ms++) {
        usleep(1000);
        got = pages_in_memory(fd, size);
    }
    talloc_free(ahead);
    assert_true(got >= wanted);
    close(fd);
    env_close(env);
    test_store_open(&s->test);
}

/* Flips bytes of a copy of the log: only its own bytes are read then.
 */
TEST_WITH(recovery_prefetch_survives_a_damaged_log, begin, finish)
{
    struct story *s = *state;
    uint64_t seed = random_seed("recovery_prefetch");
    struct env *env = open_changed(s);
    struct foretold *foretold = talloc_zero(s->mem, struct foretold);
    char from[128], copy[128], path[192], name[LOG_NAME];
    uint32_t first, last;
    foretold->most = SIZE_MAX;
    assert_true(log_files_span(s->test.directory, &first, &last));
    log_files_name(last, name);
    snprintf(from, sizeof from, "%s/%s", s->test.directory, name);
    snprintf(copy, sizeof copy, "%s/copy", s->test.directory);
    snprintf(path, sizeof path, "%s/%s", copy, name);
    assert_int_equal(mkdir(copy, 0700), 0);
    size_t size = 1 << 20; /* of the log's first bytes */
    uint8_t *log = talloc_zero_size(s->mem, size);
    for (int i = 0; i < DAMAGES; i++) {
        int in = open(from, O_RDONLY | O_CLOEXEC);
        int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        ssize_t got = pread(in, log, size, 0);
        for (int k = 0; k < 1 << (i % 12); k++)
            log[random_below(&seed, size)] ^=
                (uint8_t)(1 + random_below(&seed, 255));
        assert_int_equal(
            write(out, log, (size_t)got - random_below(&seed, 99)) > 0, true);
        close(in);
        close(out);
        (void)recovery_pages(copy, note, foretold);
    }
    test_remove(copy);
    env_close(env);
    test_store_open(&s->test);
}
