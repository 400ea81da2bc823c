/* Registers unit tests with cmocka, and gives them a talloc context that must
 * be empty at the end, files of tests/data and repeatable random numbers. */
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

/* TEST(name) { ... } defines a test of this program, TEST_WITH one with a setup
 * and a teardown. Tests run in the order of the file. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, begin, finish)                                         \
    static void name(void **state);                                            \
    __attribute__((constructor)) static void add_##name(void)                  \
    {                                                                          \
        unit_add(#name, __LINE__, name, begin, finish);                        \
    }                                                                          \
    static void name(void **state __attribute__((unused)))

/* Once in a file: a setup before its first test, a teardown after its last. */
#define TESTS_SHARE(begin, finish)                                             \
    __attribute__((constructor)) static void share(void)                       \
    {                                                                          \
        unit_share(begin, finish);                                             \
    }

void unit_share(CMFixtureFunction begin, CMFixtureFunction finish);
void unit_add(const char *name, int line, CMUnitTestFunction test,
              CMFixtureFunction begin, CMFixtureFunction finish);

/* Setup: *state becomes the memory of the test. */
int memory_open(void **state);

/* Teardown: fails unless the test has freed all memory below *state. */
int memory_close(void **state);

/* Writes the path of a file of tests/data into out, and returns out. */
const char *data_path(const char *name, char *out, size_t size);

/* Returns a seed and prints it; KX_TEST_SEED=n repeats a run with that seed. */
uint64_t random_seed(const char *test);

/* Returns the next random number (splitmix64). */
uint64_t random_next(uint64_t *seed);

/* Returns a random number from 0 to limit - 1. */
size_t random_below(uint64_t *seed, size_t limit);

#endif
