/* Totals of groups: numbers of every spelling, exact sums, and what is no
 * number. */
#include "all_memory.h"
#include "schema/totals.h"

static const char *number(void *mem, const char *token, size_t scale)
{
    struct kx_buffer out;
    kx_buffer_init(&out, mem);
    enum kx_status status = totals_number(kx_text(token), scale, &out);
    if (status != KX_OK) {
        assert_int_equal(out.size, 0);
        return status == KX_ABSENT          ? "no number"
               : status == KX_OUT_OF_BOUNDS ? "too many digits"
                                            : "no memory";
    }
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

TEST(numbers_get_the_decimals_of_the_scale)
{
    void *mem = talloc_new(*state);
    assert_string_equal(number(mem, "17.5", 2), "17.50");
    assert_string_equal(number(mem, "-0.05", 2), "-0.05");
    assert_string_equal(number(mem, "0.10000", 1), "0.1");
    assert_string_equal(number(mem, "-0.0", 2), "0.00");
    assert_string_equal(number(mem, "12e2", 0), "1200");
    assert_string_equal(number(mem, "1200E-2", 0), "12");
    assert_string_equal(number(mem, "1e-2", 2), "0.01");
    assert_string_equal(number(mem, "100", 0), "100");
    assert_string_equal(number(mem, "0e999999999", 0), "0");
    assert_string_equal(number(mem, "9007199254740993.25", 2),
                        "9007199254740993.25");
    assert_string_equal(
        number(mem, "{\"type\":\"bigint\",\"value\":\"-12\"}", 1), "-12.0");
    talloc_free(mem);
}

TEST(values_that_cannot_be_summed_are_rejected)
{
    void *mem = talloc_new(*state);
    assert_string_equal(number(mem, "1.005", 2), "too many digits");
    assert_string_equal(number(mem, "1e-3", 2), "too many digits");
    assert_string_equal(number(mem, "1e400", 0), "too many digits");
    assert_string_equal(number(mem, "1e99999999999999999999", 0),
                        "too many digits");
    assert_string_equal(number(mem, "\"1\"", 0), "no number");
    assert_string_equal(number(mem, "null", 0), "no number");
    assert_string_equal(number(mem, "[1]", 0), "no number");
    assert_string_equal(
        number(mem, "{\"type\":\"bigint\",\"value\":\"1x\"}", 0), "no number");
    assert_string_equal(number(mem, "{\"type\":\"number\",\"value\":\"1\"}", 0),
                        "no number");
    talloc_free(mem);
}

static const char *add(void *mem, const char *totals, const char *more,
                       bool negate)
{
    struct kx_buffer out;
    uint64_t count = 0;
    kx_buffer_init(&out, mem);
    enum kx_status status =
        totals_add(kx_text(totals), kx_text(more), negate, &out, &count);
    if (status != KX_OK)
        return kx_status_name(status);
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

TEST(totals_are_added_and_subtracted)
{
    void *mem = talloc_new(*state);
    assert_string_equal(add(mem, "", "{\"count\":1}", false), "{\"count\":1}");
    assert_string_equal(add(mem, "{\"count\":7}", "{\"count\":3}", true),
                        "{\"count\":4}");
    assert_string_equal(
        add(mem, "{\"count\":2,\"sum\":{\"/a\":\"0.99\",\"/b\":\"-5\"}}",
            "{\"count\":1,\"sum\":{\"/a\":\"0.01\",\"/b\":\"7\"}}", false),
        "{\"count\":3,\"sum\":{\"/a\":\"1.00\",\"/b\":\"2\"}}");
    assert_string_equal(add(mem, "{\"count\":2,\"sum\":{\"/a\":\"0.99\"}}",
                            "{\"count\":2,\"sum\":{\"/a\":\"1.01\"}}", true),
                        "{\"count\":0,\"sum\":{\"/a\":\"-0.02\"}}");
    talloc_free(mem);
}

TEST(damaged_totals_are_rejected)
{
    static const char *const damaged[] = {
        "{}",
        "{\"count\":-1}",
        "{\"count\":1}",
        "1",
        "{\"count\":3,\"sum\":{\"/b\":\"1.0\"}}",
        "{\"count\":3,\"sum\":{\"/a\":\"1.00\"}}",
        "{\"count\":3,\"sum\":{\"/a\":\"x.0\"}}",
        "{\"count\":3,\"sum\":{\"/a\":1}}"};
    void *mem = talloc_new(*state);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        assert_string_equal(add(mem, damaged[i],
                                "{\"count\":2,\"sum\":{\"/a\":\"1.0\"}}",
                                false),
                            kx_status_name(KX_FAILED));
    assert_string_equal(add(mem, "{\"count\":1}", "{\"count\":2}", true),
                        kx_status_name(KX_FAILED));
    talloc_free(mem);
}

/* A sum of random numbers equals the one of 64-bit integers. */
TEST(sums_of_many_numbers_are_exact)
{
    uint64_t seed = random_seed("totals_test");
    int64_t sum = 0;
    const char *totals = "";
    void *mem = talloc_new(*state);
    for (int i = 0; i < 1000; i++) {
        char more[100];
        int64_t cents = (int64_t)random_below(&seed, 2000000) - 1000000;
        sum += cents;
        snprintf(more, sizeof more,
                 "{\"count\":1,\"sum\":{\"/a\":\"%s%lld.%02lld\"}}",
                 cents < 0 ? "-" : "", llabs(cents) / 100, llabs(cents) % 100);
        totals = add(mem, totals, more, false);
    }
    char want[100];
    snprintf(want, sizeof want,
             "{\"count\":1000,\"sum\":{\"/a\":\"%s%lld.%02lld\"}}",
             sum < 0 ? "-" : "", llabs(sum) / 100, llabs(sum) % 100);
    assert_string_equal(totals, want);
    talloc_free(mem);
}
