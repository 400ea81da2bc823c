/* A directory that cannot be read to its end while a store is opened: whichever
 * reading fails, the store is not opened as if a part of it were not there, and
 * nothing in it changes. `readdir` here is called in the place of the C
 * library's, by the core and by Berkeley DB. */
#include "../lib/store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

enum { READINGS_MAX = 1000 };

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

static void a_reading_that_fails(void **state)
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

int main(void)
{
    atomic_store(&readings, -1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reading_that_fails, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
