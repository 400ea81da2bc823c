/* Rows of several runs come out in key order, each as often as it went in; what
 * is read is what was written, or an error. */
#include "builds/run_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "builds/row_sorter.h"
#include "unit.h"

enum { RUNS = 7, ROWS = 3000, LARGE = 3 * RUN_BLOCK_BYTES };

static char directory[] = "/tmp/kindex-run-file-XXXXXX";

static int begin(void **state)
{
    if (memory_open(state) != 0)
        return -1;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int finish(void **state)
{
    rmdir(directory);
    return memory_close(state);
}

/* A run of random rows, some of them equal to those of other runs. Some values
 * do not fit into a block. The sum depends on all bytes, not on the order. */
static uint64_t add_run(struct run_file *file, void *mem, uint64_t *seed)
{
    struct row_sorter *sorter = row_sorter_create(mem, 0);
    struct row_write row;
    uint8_t *value = talloc_zero_array(sorter, uint8_t, LARGE);
    uint64_t sum = 0;
    char key[24];
    for (int i = 0; i < ROWS; i++) {
        size_t size =
            random_below(seed, 1000) == 0 ? LARGE : random_below(seed, 200);
        snprintf(key, sizeof key, "%zu", random_below(seed, 100000));
        value[0] = (uint8_t)random_below(seed, 256);
        assert_true(
            row_sorter_add(sorter, kx_text(key), kx_slice(value, size)));
        sum += strlen(key) * 7 + size * 3 + (size > 0 ? value[0] : 0);
    }
    while (row_sorter_next(sorter, &row))
        assert_int_equal(run_file_add(file, row.key, row.value), KX_OK);
    assert_int_equal(run_file_end_run(file), KX_OK);
    talloc_free(sorter);
    return sum;
}

TEST(run_file_merges_its_runs)
{
    uint64_t seed = random_seed("runs");
    struct run_file *file = run_file_create(*state, directory);
    struct kx_slice key;
    struct kx_slice value;
    uint64_t sum = 0;
    size_t count = 0;
    char last[24] = "";
    enum kx_status status;
    assert_non_null(file);
    for (int i = 0; i < RUNS; i++)
        sum += add_run(file, *state, &seed);
    assert_int_equal(run_file_runs(file), RUNS);
    assert_int_equal(run_file_rows(file), RUNS * ROWS);
    while ((status = run_file_next(file, &key, &value)) == KX_OK) {
        assert_true(kx_compare(kx_text(last), key) <= 0);
        snprintf(last, sizeof last, "%.*s", (int)key.size,
                 (const char *)key.data);
        sum -= key.size * 7 + value.size * 3 +
               (value.size > 0 ? value.data[0] : 0);
        count++;
    }
    assert_int_equal(status, KX_END);
    assert_int_equal(run_file_next(file, &key, &value), KX_END);
    assert_int_equal(count, RUNS * ROWS);
    assert_int_equal(sum, 0);
    talloc_free(file);
}

TEST(empty_run_file_returns_no_row)
{
    struct run_file *file = run_file_create(*state, directory);
    struct kx_slice key;
    struct kx_slice value;
    assert_int_equal(run_file_end_run(file), KX_OK);
    assert_int_equal(run_file_runs(file), 0);
    assert_int_equal(run_file_next(file, &key, &value), KX_END);
    talloc_free(file);
}

/* The descriptor of the only file in /proc/self/fd that is in the directory. */
static int descriptor(void)
{
    char path[64];
    char target[128];
    for (int fd = 3; fd < 256; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(path, target, sizeof target - 1);
        if (size > 0 && strncmp(target, directory, sizeof directory - 1) == 0)
            return fd;
    }
    fail_msg("no file is open");
    return -1;
}

/* Changes one bit of the file, in several places in turn, or cuts its end off.
 */
TEST(run_file_rejects_a_damaged_file)
{
    for (int place = 0; place < 40; place++) {
        uint64_t seed = 5;
        struct run_file *file = run_file_create(*state, directory);
        struct kx_slice key;
        struct kx_slice value;
        enum kx_status status;
        uint8_t byte;
        add_run(file, *state, &seed);
        add_run(file, *state, &seed);
        uint64_t size = run_file_bytes(file);
        off_t at = (off_t)(size / 40 * (uint64_t)place);
        int fd = descriptor();
        if (place % 10 == 9) {
            assert_int_equal(ftruncate(fd, at), 0);
        } else {
            assert_int_equal(pread(fd, &byte, 1, at), 1);
            byte ^= 4;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        while ((status = run_file_next(file, &key, &value)) == KX_OK)
            ;
        assert_int_equal(status, KX_FAILED);
        talloc_free(file);
    }
}

TEST(run_file_leaves_no_name_in_the_directory)
{
    uint64_t seed = 5;
    struct run_file *file = run_file_create(*state, directory);
    DIR *open = opendir(directory);
    size_t names = 0;
    add_run(file, *state, &seed);
    while (readdir(open) != NULL)
        names++;
    closedir(open);
    assert_int_equal(names, 2); /* . and .. */
    talloc_free(file);
    assert_null(run_file_create(*state, "/nowhere/at/all"));
}

TESTS_SHARE(begin, finish)
