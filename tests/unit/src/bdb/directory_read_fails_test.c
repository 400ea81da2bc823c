/* A directory that cannot be read to its end while a store is opened: whichever
 * reading fails, the store is not opened as if a part of it were not there, and
 * nothing in it changes. `readdir` here is called in the place of the C
 * library's, by the core and by Berkeley DB. */
#include "store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include <db.h>

#include "storage/log_files.h"

enum { READINGS_MAX = 1000, DESCRIPTORS_MAX = 100 };

static atomic_int readings; /* still to go well; below 0: all do */
static atomic_bool failed;

/* A recovery that breaks off leaves what the library had allocated for it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdb-5.3";
}

struct dirent *readdir(DIR *directory)
{
    struct dirent *(*real)(DIR *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    if (atomic_fetch_sub(&readings, 1) != 0)
        return real(directory);
    atomic_store(&failed, true);
    errno = EIO;
    return NULL;
}

TEST_WITH(open_fails_when_a_directory_cannot_be_read, begin, finish)
{
    struct story *s = *state;
    struct test_store *test = &s->test;
    test_set(test, s->mem, "[\"a\"]", "1");
    test_store_close(test);
    for (int n = 0; n < READINGS_MAX; n++) {
        atomic_store(&failed, false);
        atomic_store(&readings, n);
        enum kx_status status = kx_open(&test->options, &test->store, NULL);
        atomic_store(&readings, -1);
        if (status == KX_OK)
            kx_close(test->store);
        test_store_open(test);
        assert_string_equal(test_get(test, s->mem, "[\"a\"]"), "1");
        test_store_close(test);
        if (!atomic_load(&failed))
            break;
        assert_int_not_equal(status, KX_DAMAGED);
    }
    assert_false(atomic_load(&failed));
    test_store_open(test);
}

static bool pass_over(void *target, const struct log_mark *mark)
{
    (void)target;
    (void)mark;
    return true;
}

/* Opens the log before any store, as a restore from an archive does. */
TEST_WITH(open_fails_when_log_directory_cannot_be_read, begin, finish)
{
    struct story *s = *state;
    struct test_store *test = &s->test;
    struct kx_fault fault;
    test_set(test, s->mem, "[\"a\"]", "1");
    test_store_close(test);
    db_env_set_func_dirlist(NULL);
    db_env_set_func_dirfree(NULL);
    for (int n = 0; n < READINGS_MAX; n++) {
        atomic_store(&failed, false);
        atomic_store(&readings, n);
        enum kx_status status =
            log_marks_read(test->directory, pass_over, NULL, &fault);
        atomic_store(&readings, -1);
        if (!atomic_load(&failed))
            break;
        assert_int_equal(status, KX_FAILED);
    }
    assert_false(atomic_load(&failed));
    test_store_open(test);
    assert_string_equal(test_get(test, s->mem, "[\"a\"]"), "1");
}

/* However few descriptors there are, that is no damage. */
TEST_WITH(open_fails_without_change_when_descriptors_run_out, begin, finish)
{
    struct story *s = *state;
    struct test_store *test = &s->test;
    struct rlimit usual;
    enum kx_status status = KX_FAILED;
    test_set(test, s->mem, "[\"a\"]", "1");
    test_store_close(test);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (rlim_t n = 3; n < DESCRIPTORS_MAX && status != KX_OK; n++) {
        struct rlimit few = {.rlim_cur = n, .rlim_max = usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        status = kx_open(&test->options, &test->store, NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_int_not_equal(status, KX_DAMAGED);
    }
    assert_int_equal(status, KX_OK);
    kx_close(test->store);
    test_store_open(test);
    assert_string_equal(test_get(test, s->mem, "[\"a\"]"), "1");
}
