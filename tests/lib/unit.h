/* What a unit test begins with: cmocka, and a talloc context that must be as
 * empty after the test as it was before. */
#ifndef UNIT_H
#define UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <talloc.h>

/* TEST(name) { ... } is a test of this program; TEST_WITH one whose setup and
 * teardown come after its name. They run in the order of the file. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, begin, finish)                                         \
    static void name(void **state);                                            \
    __attribute__((constructor)) static void add_##name(void)                  \
    {                                                                          \
        unit_add(#name, __LINE__, name, begin, finish);                        \
    }                                                                          \
    static void name(void **state __attribute__((unused)))

/* A line of a file whose tests share what one setup makes before the first. */
#define TESTS_SHARE(begin, finish)                                             \
    __attribute__((constructor)) static void share(void)                       \
    {                                                                          \
        unit_share(begin, finish);                                             \
    }

void unit_share(CMFixtureFunction begin, CMFixtureFunction finish);
void unit_add(const char *name, int line, CMUnitTestFunction test,
              CMFixtureFunction begin, CMFixtureFunction finish);

/* Setup of a test: *state becomes its memory. */
int memory_open(void **state);

/* Teardown: all that the test made must be freed. */
int memory_close(void **state);

/* Path of a file of tests/data; the caller's buffer holds it. */
const char *data_path(const char *name, char *out, size_t size);

/* Random numbers that can be had again: prints the seed, which KX_TEST_SEED=n
 * sets. */
uint64_t random_seed(const char *test);

/* The next one (splitmix64). */
uint64_t random_next(uint64_t *seed);

/* One of 0 .. limit - 1. */
size_t random_below(uint64_t *seed, size_t limit);

#endif
