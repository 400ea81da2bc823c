#include "unit.h"

int memory_open(void **state)
{
    *state = talloc_named_const(NULL, 0, "test");
    return *state == NULL;
}

int memory_close(void **state)
{
    assert_int_equal(talloc_total_blocks(*state), 1);
    return talloc_free(*state);
}

const char *data_path(const char *name, char *out, size_t size)
{
    const char *directory = getenv("KX_TEST_DATA");
    snprintf(out, size, "%s/%s", directory ? directory : "tests/data", name);
    return out;
}

uint64_t random_seed(const char *test)
{
    const char *given = getenv("KX_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20240229;
    printf("%s: KX_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

uint64_t random_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t random_below(uint64_t *seed, size_t limit)
{
    return (size_t)(random_next(seed) % limit);
}
