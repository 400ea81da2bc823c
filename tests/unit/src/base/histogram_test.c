/* Buckets of histograms: where a value is counted, and that none is lost when
 * several threads add. */
#include "kindex.h"
#include "unit.h"

#include <pthread.h>

static uint64_t count_all(const struct kx_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < KX_BUCKETS; i++)
        count += histogram->counts[i];
    return count;
}

TEST(histogram_bound_belongs_to_its_bucket)
{
    for (size_t i = 0; kx_bucket_bound(KX_TIMES, i) != UINT64_MAX; i++) {
        struct kx_histogram histogram = {.sum = 0};
        uint64_t bound = kx_bucket_bound(KX_TIMES, i);
        kx_histogram_add(&histogram, KX_TIMES, bound);
        kx_histogram_add(&histogram, KX_TIMES, bound + 1);
        assert_int_equal(histogram.counts[i], 1);
        assert_int_equal(histogram.counts[i + 1], 1);
        assert_int_equal(histogram.sum, 2 * bound + 1);
    }
}

TEST(histogram_bounds_grow_and_end_within_the_buckets)
{
    for (enum kx_scale scale = KX_TIMES; scale <= KX_SIZES; scale++) {
        size_t i = 0;
        for (; kx_bucket_bound(scale, i) != UINT64_MAX; i++)
            assert_true(kx_bucket_bound(scale, i) <
                        kx_bucket_bound(scale, i + 1));
        assert_true(i < KX_BUCKETS);
    }
    assert_int_equal(kx_bucket_bound(KX_TIMES, 0), 10000);
    assert_int_equal(kx_bucket_bound(KX_SIZES, 12), 4096);
}

TEST(histogram_counts_values_above_all_bounds_in_last_bucket)
{
    struct kx_histogram histogram = {.sum = 0};
    kx_histogram_add(&histogram, KX_SIZES, 4097);
    kx_histogram_add(&histogram, KX_SIZES, 0);
    assert_int_equal(histogram.counts[13], 1);
    assert_int_equal(histogram.counts[0], 1);
    kx_histogram_add(&histogram, KX_TIMES, UINT64_MAX);
    assert_int_equal(histogram.counts[19], 1);
}

enum { THREADS = 4, ADDED = 20000 };

static void *add_many(void *closure)
{
    for (uint64_t i = 0; i < ADDED; i++)
        kx_histogram_add(closure, KX_SIZES, i % 5000);
    return NULL;
}

TEST(histogram_loses_no_count_of_concurrent_threads)
{
    struct kx_histogram histogram = {.sum = 0};
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ADDED; i++)
        sum += i % 5000;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, add_many, &histogram), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(count_all(&histogram), THREADS * ADDED);
    assert_int_equal(histogram.sum, THREADS * sum);
}
