/* On a disk whose reads take long, what a commit and a list need is read by
 * several threads at a time, and is right; elsewhere no thread is begun.
 * `pread` here is called in the place of the C library's. */
#include "store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>

enum {
    ENTRIES = 2000, /* of a quarter of a page */
    COMMIT = 500,
    ROWS = 400, /* of one call */
    FEW = 20,   /* rows that are read one by one, before others are */
    READ_NS = 1000000
};

static atomic_bool slow;
static atomic_int helped; /* reads of the threads that read ahead */
static _Thread_local int own_reads;

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    enum { NAME_BYTES = 16 };
    ssize_t (*real)(int, void *, size_t, off_t) = NULL;
    char name[NAME_BYTES] = "";
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
    pthread_getname_np(pthread_self(), name, sizeof name);
    helped += strcmp(name, "prefetch") == 0;
    own_reads++;
    if (atomic_load(&slow))
        nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL);
    return real(fd, bytes, size, at);
}

static int threads(void)
{
    DIR *directory = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* A value begins with its place in the order of the index. */
enum { PLACE_AT = sizeof "{\"place\":" - 1 };

static const char *value_of(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"place\":%d,\"pad\":\"%0800d\"}",
                           n * 7 % ENTRIES, n);
}

/* Between those of the others. */
static const char *new_value_of(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"place\":%d.5}", n * 7 % ENTRIES);
}

/* None of its pages is in the cache, and none of its records. */
static void open_cold(struct story *s)
{
    test_store_close(&s->test);
    test_store_open(&s->test);
    atomic_store(&helped, 0);
    atomic_store(&slow, true);
}

static void fill(struct story *s)
{
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_place\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/place\"]}"),
                     KX_OK);
    for (int n = 0; n < ENTRIES; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, value_of);
}

/* Lists by the index, and checks the order: how many. */
static size_t list(struct story *s, bool reverse)
{
    double last = reverse ? ENTRIES : -1;
    struct kx_range range = {.reverse = reverse};
    struct kx_entry entry;
    size_t count = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(
        kx_scan_index(s->test.reader, kx_text("by_place"), &range, NULL),
        KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK) {
        double place = atof((const char *)entry.value.data.data + PLACE_AT);
        assert_true(reverse ? place < last : place > last);
        last = place;
        count++;
    }
    kx_read_end(s->test.reader);
    return count;
}

/* A few are read one by one before. */
static void read_many(struct story *s)
{
    struct kx_slice keys[ROWS];
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, s->mem);
    for (int i = 0; i < ROWS; i++)
        keys[i] = test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]",
                                                   i * (ENTRIES / ROWS)));
    kx_read_begin(s->test.reader);
    for (int i = 0; i < ROWS; i++) {
        if (i == FEW)
            kx_read_prefetch(s->test.reader, keys + FEW, ROWS - FEW);
        assert_int_equal(
            kx_read(s->test.reader, keys[i], &record, &entry, NULL), KX_OK);
    }
    kx_read_end(s->test.reader);
}

static void fill_again(struct story *s)
{
    test_fill(&s->test, "u", 0, COMMIT, value_of);
    test_fill(&s->test, "u", COMMIT, COMMIT, value_of);
}

TEST_WITH(commit_prefetches_entries_with_several_threads, begin, finish)
{
    struct story *s = *state;
    fill(s);
    open_cold(s);
    fill_again(s);
    assert_true(atomic_load(&helped) > 0);
    atomic_store(&slow, false);
    assert_int_equal(list(s, false), ENTRIES);
}

/* The new entries are neighbours; the rows of the index are not, and no plan
 * needs them. */
TEST_WITH(batch_prefetches_rows_with_several_threads, begin, finish)
{
    struct story *s = *state;
    fill(s);
    open_cold(s);
    test_fill(&s->test, "u", ENTRIES, FEW, new_value_of);
    test_fill(&s->test, "u", ENTRIES + FEW, COMMIT - FEW, new_value_of);
    assert_true(atomic_load(&helped) > 0);
    atomic_store(&slow, false);
    assert_int_equal(list(s, false), ENTRIES + COMMIT);
}

TEST_WITH(list_by_index_prefetches_with_several_threads, begin, finish)
{
    struct story *s = *state;
    fill(s);
    open_cold(s);
    assert_int_equal(list(s, false), ENTRIES);
    assert_true(atomic_load(&helped) > 0);
    open_cold(s);
    assert_int_equal(list(s, true), ENTRIES); /* one row at a time */
    atomic_store(&slow, false);
}

/* The second time from memory; what is read ahead is no look-up in the cache of
 * records. */
TEST_WITH(get_of_many_keys_prefetches_with_several_threads, begin, finish)
{
    struct story *s = *state;
    fill(s);
    open_cold(s);
    read_many(s);
    assert_true(atomic_load(&helped) > 0);
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    assert_int_equal(figures.record_cache_misses, ROWS);
    int before = own_reads;
    read_many(s);
    assert_int_equal(own_reads, before);
    atomic_store(&slow, false);
}

/* A commit, a list and a request for many that find all pages in the cache. */
TEST_WITH(pages_in_memory_start_no_prefetch_thread, begin, finish)
{
    struct story *s = *state;
    fill(s);
    int before = threads();
    atomic_store(&slow, true);
    fill_again(s);
    assert_int_equal(list(s, false), ENTRIES);
    read_many(s);
    atomic_store(&slow, false);
    assert_int_equal(threads(), before);
}
