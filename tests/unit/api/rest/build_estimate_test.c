/* The time that a build is estimated to take still, and its percentage, from
 * what was measured of one: 20,000,000 entries, read and sorted in 29.9 s, then
 * the rows of two indexes written in 59.3 s. */
#include "rest/indexjson.h"
#include <stdio.h>

#include "unit.h"

static const uint64_t ENTRIES = 20000000;
static const double READ_S = 29.9, WRITE_S = 59.3, TOLERANCE = 0.25;

/* The index that is written last, after so much of the whole time. */
static struct kx_index_info at(double seconds)
{
    double read = seconds < READ_S ? seconds / READ_S : 1;
    double written = seconds < READ_S ? 0 : (seconds - READ_S) / WRITE_S;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING,
                                 .migration = KX_INDEX_BUILDING,
                                 .done = (uint64_t)(read * (double)ENTRIES),
                                 .total = ENTRIES,
                                 .per_second = (double)ENTRIES / READ_S};
    info.gathered = 2 * info.done;
    info.unwritten = (uint64_t)((1 - written) * (double)info.gathered);
    info.write_rate = written > 0 ? 2 * (double)ENTRIES / WRITE_S : 0;
    return info;
}

TEST(build_estimate_is_right_from_the_first_tenth_on)
{
    double all = READ_S + WRITE_S;
    for (double share = 0.1; share < 0.95; share += 0.05) {
        struct kx_index_info info = at(all * share);
        double left = all * (1 - share);
        double eta = (double)indexjson_eta(&info);
        assert_true(eta > left * (1 - TOLERANCE) - 1);
        assert_true(eta < left * (1 + TOLERANCE) + 1);
    }
}

TEST(paused_build_has_no_estimate)
{
    struct kx_index_info info = at(10);
    assert_true(indexjson_eta(&info) > 0);
    info.paused = true;
    assert_int_equal(indexjson_eta(&info), 0);
}

static double percent_at(void *memory, double seconds)
{
    struct kx_index_info info = at(seconds);
    struct kx_buffer out;
    double percent;
    kx_buffer_init(&out, memory);
    indexjson_write_build(&info, &out);
    kx_add_byte(&out, '\0');
    const char *found = strstr((const char *)out.data, "\"percent\":");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "\"percent\":%lf", &percent), 1);
    kx_buffer_free(&out);
    return percent;
}

TEST(build_percentage_follows_time)
{
    for (double share = 0.1; share < 0.95; share += 0.1) {
        double percent = percent_at(*state, (READ_S + WRITE_S) * share);
        assert_true(percent > 100 * share - 5 && percent < 100 * share + 5);
    }
}
