/* The page cache is as large as env_open was asked to make it: Berkeley DB adds
 * a quarter to a small one. */
#include "store.h"

static const uint64_t MIB = 1 << 20;

static uint64_t cache_of(const char *directory, uint64_t bytes)
{
    struct env *env = NULL;
    struct env_stats figures;
    struct env_options options = {.directory = directory, .cache_bytes = bytes};
    assert_int_equal(env_open(NULL, &options, &env, NULL), KX_OK);
    env_stats_read(env, &figures);
    assert_int_equal(env_close(env), KX_OK);
    return figures.cache_bytes;
}

TEST(page_cache_has_the_requested_size)
{
    static const uint64_t sizes[] = {8, 64, 399, 400, 499, 500, 501, 640, 1100};
    char directory[64];
    snprintf(directory, sizeof directory, "%s/kindex-test-XXXXXX",
             test_place());
    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t asked = sizes[i] * MIB;
        assert_in_range(cache_of(directory, asked), asked, asked + asked / 100);
    }
    test_remove(directory);
}
