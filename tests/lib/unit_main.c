/* The main function of a unit test whose tests are all made by TEST and
 * TEST_WITH. It is weak: a test may have its own. */
#include "unit.h"

enum { TESTS_MAX = 64 };

int main(void) __attribute__((weak));

static struct {
    struct CMUnitTest tests[TESTS_MAX];
    int lines[TESTS_MAX];
    size_t count;
    CMFixtureFunction begin;
    CMFixtureFunction finish;
} unit;

void unit_add(const char *name, int line, CMUnitTestFunction test,
              CMFixtureFunction begin, CMFixtureFunction finish)
{
    size_t at = unit.count++;
    if (at == TESTS_MAX)
        abort();
    for (; at > 0 && unit.lines[at - 1] > line; at--) {
        unit.tests[at] = unit.tests[at - 1];
        unit.lines[at] = unit.lines[at - 1];
    }
    unit.tests[at] = (struct CMUnitTest){name, test, begin, finish, NULL};
    unit.lines[at] = line;
}

void unit_share(CMFixtureFunction begin, CMFixtureFunction finish)
{
    unit.begin = begin;
    unit.finish = finish;
}

int main(void)
{
    return _cmocka_run_group_tests("tests", unit.tests, unit.count, unit.begin,
                                   unit.finish);
}
