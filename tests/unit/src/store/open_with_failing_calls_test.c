/* A start at which one call on the store's files fails, each in turn, and a
 * disk that can be read is not what fails: the store is opened or it is not,
 * but it is never taken for damaged, and the next start has all of it. The
 * functions here are called in the place of the C library's, by the core and by
 * Berkeley DB. */
#include "store.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum call { OPEN, PREAD, FDATASYNC, STAT, CALLS };

/* Whose files are meant; NULL: no call fails. */
static const char *_Atomic directory;
static enum call failing;
static atomic_int left; /* such calls that go well before it */
static atomic_bool failed;

/* A recovery that breaks off leaves what the library had allocated for it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdb-5.3";
}

static bool fails_at(enum call call, const char *path)
{
    const char *of = atomic_load(&directory);
    if (of == NULL || call != failing || strncmp(path, of, strlen(of)) != 0 ||
        atomic_fetch_sub(&left, 1) != 0)
        return false;
    atomic_store(&failed, true);
    errno = EACCES;
    return true;
}

static bool fails_on(enum call call, int fd)
{
    char link[64], path[512];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    errno = before;
    return fails_at(call, path);
}

static void find(void *function_out, const char *name)
{
    *(void **)function_out = dlsym(RTLD_NEXT, name);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    find(&real, "open");
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return fails_at(OPEN, path) ? -1 : real(path, flags, mode);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t);
    find(&real, "pread");
    return fails_on(PREAD, fd) ? -1 : real(fd, bytes, size, at);
}

int fdatasync(int fd)
{
    int (*real)(int);
    find(&real, "fdatasync");
    return fails_on(FDATASYNC, fd) ? -1 : real(fd);
}

int stat(const char *path, struct stat *about)
{
    int (*real)(const char *, struct stat *);
    find(&real, "stat");
    return fails_at(STAT, path) ? -1 : real(path, about);
}

static void copy(const char *from, const char *to)
{
    char command[1024];
    snprintf(command, sizeof command,
             "rm -rf '%s' && cp -r --sparse=always '%s' '%s'", to, from, to);
    assert_int_equal(system(command), 0); /* NOLINT */
}

/* Starts it once so that call n fails, and again. False: there is no call n. */
static bool start(struct story *s, const char *crashed, int n)
{
    struct test_store *test = &s->test;
    struct kx_fault fault = {.detail = ""};
    copy(crashed, test->directory);
    atomic_store(&failed, false);
    atomic_store(&left, n);
    atomic_store(&directory, test->directory);
    enum kx_status status = kx_open(&test->options, &test->store, &fault);
    atomic_store(&directory, NULL);
    if (status == KX_OK)
        kx_close(test->store);
    else
        assert_non_null(strstr(fault.detail, strerror(EACCES)));
    assert_int_not_equal(status, KX_DAMAGED);
    test_store_open(test);
    assert_string_equal(test_get(test, s->mem, "[\"a\"]"), "1");
    test_store_close(test);
    return atomic_load(&failed);
}

TEST_WITH(failing_file_call_at_open_is_never_taken_for_damage, begin, finish)
{
    struct story *s = *state;
    struct test_store *test = &s->test;
    char *crashed = talloc_asprintf(s->mem, "%s-crashed", test->directory);
    test_set(test, s->mem, "[\"a\"]", "1");
    copy(test->directory, crashed);
    test_store_close(test);
    for (failing = 0; failing < CALLS; failing++)
        for (int n = 0; start(s, crashed, n);)
            n++;
    test_remove(crashed);
    test_store_open(test);
}
