/* The log file that is made in advance: it becomes the next one, full of zeros.
 * The Makefile puts __wrap_clock_gettime where the core calls clock_gettime,
 * and so on. */
#include "store.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __real_statvfs(const char *path, struct statvfs *out);
int __wrap_statvfs(const char *path, struct statvfs *out);

enum {
    STEPS = 5, /* looks of one that is begun, before the disk is full */
    FLOOR = 1 << 20,
    FILE_BYTES = 16 << 20,
    VALUE_BYTES = 60000,
    PATIENCE = 60000
};

static atomic_bool ahead; /* the wall clock, before it is set right */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME && atomic_load(&ahead))
        now->tv_sec += 3600;
    return result;
}

static _Atomic uint64_t room; /* of the disk, 0: as much as there is */
static atomic_int
    full_from; /* 0, or the number of the call from which on there is none */
static atomic_int looks;

int __wrap_statvfs(const char *path, struct statvfs *out)
{
    int result = __real_statvfs(path, out);
    uint64_t bytes = atomic_load(&room);
    int from = atomic_load(&full_from);
    if (bytes != 0)
        out->f_bavail = bytes / out->f_frsize;
    if (atomic_fetch_add(&looks, 1) + 1 >= from && from != 0)
        out->f_bavail = 0;
    return result;
}

/* The number of a file in the data directory; 0 if there is none. */
static ino_t number_of(const struct story *s, const char *name, off_t *size_out)
{
    struct stat stat_out;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", s->test.directory, name);
    if (stat(path, &stat_out) != 0)
        return 0;
    *size_out = stat_out.st_size;
    return stat_out.st_ino;
}

/* Waits for the file, which another thread makes. */
static ino_t await(const struct story *s, const char *name, off_t *size_out)
{
    ino_t number = 0;
    while ((number = number_of(s, name, size_out)) == 0)
        usleep(1000);
    return number;
}

static void fill_log(struct story *s)
{
    char *text = talloc_size(s->mem, VALUE_BYTES);
    memset(text, 'x', VALUE_BYTES);
    text[0] = '"';
    text[VALUE_BYTES - 2] = '"';
    text[VALUE_BYTES - 1] = '\0';
    for (size_t bytes = 0; bytes < FILE_BYTES; bytes += VALUE_BYTES)
        assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", text), KX_OK);
}

TEST_WITH(preallocated_file_becomes_next_log_file, begin, finish)
{
    struct story *s = *state;
    off_t size = 0;
    ino_t ready = await(s, "next-log", &size);
    assert_int_not_equal(ready, 0);
    assert_int_equal(size, FILE_BYTES);
    fill_log(s);
    assert_int_equal(number_of(s, "log.0000000002", &size), ready);
    assert_int_equal(size, FILE_BYTES);
    assert_int_not_equal(await(s, "next-log", &size), ready);
    test_store_close(&s->test);
    test_store_open(&s->test);
    assert_non_null(test_get(&s->test, s->mem, "[\"a\"]"));
}

/* The wait goes by a clock that cannot be set. */
TEST_WITH(log_is_preallocated_after_wall_clock_steps, begin, finish)
{
    struct story *s = *state;
    off_t size = 0;
    ino_t number = 0;
    test_store_close(&s->test);
    test_remove(s->test.directory);
    assert_int_equal(mkdir(s->test.directory, 0700), 0);
    atomic_store(&ahead, true);
    test_store_open(&s->test);
    for (int ms = 0; ms < PATIENCE && number == 0; ms++) {
        usleep(1000);
        number = number_of(s, "next-log", &size);
    }
    atomic_store(&ahead, false);
    assert_int_not_equal(number, 0);
}

/* If no file can be preallocated, the library makes its own. */
TEST_WITH(log_continues_without_preallocated_file, begin, finish)
{
    struct story *s = *state;
    char ready[512];
    char under_way[520];
    off_t size = 0;
    assert_int_not_equal(await(s, "next-log", &size), 0);
    snprintf(ready, sizeof ready, "%s/next-log", s->test.directory);
    snprintf(under_way, sizeof under_way, "%s.part", ready);
    assert_int_equal(mkdir(under_way, 0700), 0);
    assert_int_equal(unlink(ready), 0);
    fill_log(s);
    assert_int_not_equal(number_of(s, "log.0000000002", &size), 0);
    assert_int_equal(number_of(s, "next-log", &size), 0);
    assert_int_equal(rmdir(under_way), 0);
}

/* The storage alone, without such a file but with a part that a killed server
 * has left, and with so much room on the disk. */
static struct env *open_env(struct story *s, uint64_t bytes)
{
    struct env *env = NULL;
    struct env_options options = {.directory = s->test.directory,
                                  .cache_bytes = 1 << 20,
                                  .disk_floor = FLOOR};
    char ready[512];
    char part[520];
    test_store_close(&s->test);
    snprintf(ready, sizeof ready, "%s/next-log", s->test.directory);
    snprintf(part, sizeof part, "%s.part", ready);
    remove(ready);
    assert_int_equal(close(creat(part, 0600)), 0);
    atomic_store(&room, bytes);
    assert_int_equal(env_open(s->mem, &options, &env, NULL), KX_OK);
    return env;
}

static void close_env(struct story *s, struct env *env)
{
    atomic_store(&full_from, 0);
    atomic_store(&room, 0);
    env_close(env);
    test_store_open(&s->test);
}

static void await_look(int number)
{
    while (atomic_load(&looks) < number)
        usleep(1000);
}

static void assert_nothing_is_made(const struct story *s)
{
    off_t size = 0;
    assert_int_equal(number_of(s, "next-log", &size), 0);
    assert_int_equal(number_of(s, "next-log.part", &size), 0);
}

/* The floor must not be used even for a moment, since others would lack the
 * space. */
TEST_WITH(log_preallocation_leaves_twice_the_floor, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_env(s, FILE_BYTES + 2 * FLOOR - 1);
    off_t size = 0;
    await_look(atomic_load(&looks) + 2);
    assert_nothing_is_made(s);
    atomic_store(&room, FILE_BYTES + 2 * FLOOR);
    await(s, "next-log", &size);
    assert_int_equal(size, FILE_BYTES);
    close_env(s, env);
}

/* The preallocation begins, because its first checks find space, until others
 * fill the disk. The check after that is the first of the next try. */
TEST_WITH(log_preallocation_stops_when_disk_fills, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_env(s, FILE_BYTES + 2 * FLOOR - 1);
    await_look(atomic_load(&looks) + 2);
    int full = atomic_load(&looks) + STEPS;
    atomic_store(&full_from, full);
    atomic_store(&room, FILE_BYTES + 2 * FLOOR);
    await_look(full + 1);
    assert_nothing_is_made(s);
    close_env(s, env);
}
