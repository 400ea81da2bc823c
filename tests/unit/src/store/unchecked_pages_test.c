/* A start checks a bounded number of pages; damage of the others is found in
 * the background, or when the library reads them, and then all are checked. */
#include <fcntl.h>
#include <sys/stat.h>

#include "bdb/page_check.h"
#include "storage/directory.h"
#include "store.h"

enum {
    ROWS = 2000,
    ROW_BYTES = 1000, /* at most four on a page */
    CHECKED = 40,     /* pages at a start; the tables have more */
    DAMAGED = 300,    /* a page of the entries' table */
    STEP = 7,
    PATIENCE = 60000
};

/* A library that has panicked frees nothing. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdb-5.3";
}

static const char *thousand(void *mem, int n)
{
    char *text = talloc_size(mem, ROW_BYTES + 1);
    memset(text, '1' + n % 9, ROW_BYTES);
    text[ROW_BYTES] = '\0';
    return text;
}

static void flip(struct story *s, const char *table)
{
    uint8_t byte;
    off_t at = (off_t)DAMAGED * PAGE_BYTES + PAGE_BYTES / 2;
    char *path = talloc_asprintf(s->mem, "%s/%s", s->test.directory, table);
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void fill_and_close(struct story *s)
{
    test_fill(&s->test, "a", 0, ROWS, thousand);
    test_store_close(&s->test);
    s->test.options.check_pages = CHECKED;
}

static void assert_refused(struct story *s)
{
    struct kx_fault fault = {.detail = ""};
    assert_int_equal(kx_open(&s->test.options, &s->test.store, &fault),
                     KX_DAMAGED);
    assert_non_null(strstr(fault.detail, "page 300 of entries.db has a wrong"));
}

TEST_WITH(open_checks_limited_number_of_pages, begin, finish)
{
    struct story *s = *state;
    struct kx_fault fault;
    fill_and_close(s);
    struct page_walk walk = {.tables = TABLE_COUNT};
    assert_int_equal(page_check(s->test.directory, &walk, CHECKED, &fault),
                     KX_OK);
    assert_int_equal(walk.tables, 1); /* that of the entries is the last */
    assert_in_range(walk.page, 1, CHECKED);
    flip(s, "entries.db");
    assert_int_equal(page_check_all(s->test.directory, &fault), KX_DAMAGED);
    test_store_open(&s->test); /* it is not among them */
    test_store_close(&s->test);
    s->test.options.check_pages = UINT64_MAX; /* the control */
    assert_refused(s);
    flip(s, "entries.db");
    test_store_open(&s->test);
}

/* The steps check each page once. */
TEST_WITH(page_check_in_steps_reaches_the_end, begin, finish)
{
    struct story *s = *state;
    struct kx_fault fault;
    uint64_t pages = 0, steps = 0;
    fill_and_close(s);
    for (int i = 0; i < TABLE_COUNT; i++) {
        struct stat about;
        char *path =
            talloc_asprintf(s->mem, "%s/%s", s->test.directory, table_file(i));
        assert_int_equal(stat(path, &about), 0);
        pages += (uint64_t)about.st_size / PAGE_BYTES;
    }
    struct page_walk walk = {.tables = TABLE_COUNT, .shared = true};
    while (walk.tables > 0) {
        assert_int_equal(page_check(s->test.directory, &walk, STEP, &fault),
                         KX_OK);
        steps++;
    }
    assert_in_range(steps, pages / STEP, pages / STEP + 2);
    test_store_open(&s->test);
}

/* The check of an unreadable page is retried from that page. */
TEST_WITH(page_check_does_not_skip_unreadable_pages, begin, finish)
{
    struct story *s = *state;
    struct kx_fault fault;
    char *path = talloc_asprintf(s->mem, "%s/entries.db", s->test.directory);
    char *aside = talloc_asprintf(s->mem, "%s.aside", path);
    fill_and_close(s);
    struct page_walk walk = {.tables = 1, .page = STEP};
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(page_check(s->test.directory, &walk, STEP, &fault),
                     KX_FAILED);
    assert_non_null(strstr(fault.detail, path));
    assert_int_equal(walk.tables, 1);
    assert_int_equal(walk.page, STEP);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(page_check(s->test.directory, &walk, STEP, &fault), KX_OK);
    assert_int_equal(walk.page, 2 * STEP);
    test_store_open(&s->test);
}

/* Each start checks all pages and refuses until the page is repaired. */
TEST_WITH(background_check_finds_damage_beyond_the_first_pages, begin, finish)
{
    struct story *s = *state;
    fill_and_close(s);
    flip(s, "entries.db");
    test_store_open(&s->test);
    for (int ms = 0; ms < PATIENCE && !kx_store_failed(s->test.store); ms++)
        usleep(1000);
    assert_true(kx_store_failed(s->test.store));
    test_store_close(&s->test);
    assert_true(directory_suspect_exists(s->test.directory));
    assert_refused(s);
    assert_refused(s);
    flip(s, "entries.db");
    test_store_open(&s->test);
    assert_false(directory_suspect_exists(s->test.directory));
}

static void put_rows(struct story *s, struct env *env)
{
    for (int i = 0; i < ROWS; i++) {
        char *key = talloc_asprintf(s->mem, "test%08d", i);
        test_put(env, key, kx_text(thousand(s->mem, i)));
    }
}

static bool all_can_be_read(struct story *s, struct env *env)
{
    bool read = true;
    for (int i = 0; read && i < ROWS; i++) {
        struct kx_buffer value;
        kx_buffer_init(&value, s->mem);
        char *key = talloc_asprintf(s->mem, "test%08d", i);
        read = table_get(env, TABLE_CATALOG, kx_text(key), &value) == KX_OK;
    }
    return read;
}

TEST_WITH(library_finds_damage_in_unchecked_page, begin, finish)
{
    struct story *s = *state;
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    put_rows(s, env);
    assert_int_equal(env_close(env), KX_OK);
    env = test_env(&s->test, s->mem);
    assert_true(all_can_be_read(s, env));
    assert_int_equal(env_close(env), KX_OK);
    assert_false(directory_suspect_exists(s->test.directory));
    flip(s, "catalog.db");
    env = test_env(&s->test, s->mem);
    assert_false(all_can_be_read(s, env));
    assert_int_not_equal(env_close(env), KX_OK);
    assert_true(directory_suspect_exists(s->test.directory));
    flip(s, "catalog.db");
    test_store_open(&s->test);
}
