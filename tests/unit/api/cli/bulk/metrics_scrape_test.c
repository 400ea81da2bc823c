/* Figures read back from the text of /metrics. */
#include "cli/bulk/metrics_scrape.h"
#include "unit.h"

static const char TEXT[] =
    "# HELP a_total Help.\n# TYPE a_total counter\n"
    "a_total{route=\"/kv/...\",status=\"2xx\"} 7\n"
    "a_total{route=\"/kv/...\",status=\"4xx\"} 2\n"
    "a_total{route=\"/list\",status=\"2xx\"} 1\n"
    "g 1.5e3\n"
    "h_bucket{le=\"1\"} 2\nh_bucket{le=\"2\"} 2\nh_bucket{le=\"4\"} 10\n"
    "h_bucket{le=\"+Inf\"} 10\nh_sum 33\nh_count 10\n";

static struct metrics_scrape read_text(void *memory, const char *text)
{
    struct metrics_scrape scrape;
    assert_true(metrics_scrape_parse(memory, kx_text(text), &scrape));
    return scrape;
}

TEST(scrape_sums_samples_by_name_and_labels)
{
    void *memory = talloc_new(NULL);
    struct metrics_scrape scrape = read_text(memory, TEXT);
    assert_int_equal(scrape.count, 10);
    assert_int_equal(metrics_scrape_sum(&scrape, "a_total", ""), 10);
    assert_int_equal(
        metrics_scrape_sum(&scrape, "a_total", "route=\"/kv/...\","), 9);
    assert_int_equal(metrics_scrape_sum(&scrape, "a_total",
                                        "route=\"/kv/...\",status=\"4xx\""),
                     2);
    assert_int_equal(metrics_scrape_sum(&scrape, "a", ""), 0);
    assert_int_equal(metrics_scrape_sum(&scrape, "g", ""), 1500);
    struct kx_slice label = metrics_scrape_label(&scrape.samples[2], "route");
    assert_true(kx_equal(label, kx_text("/list")));
    assert_int_equal(metrics_scrape_label(&scrape.samples[2], "method").size,
                     0);
    talloc_free(memory);
}

TEST(scrape_rejects_invalid_lines)
{
    static const char *const bad[] = {"a", "a x", "a 1x", "<html> </html>",
                                      "a{b=\"c\"} "};
    void *memory = talloc_new(NULL);
    struct metrics_scrape scrape;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(metrics_scrape_parse(memory, kx_text(bad[i]), &scrape));
    assert_true(metrics_scrape_parse(memory, kx_text(""), &scrape));
    assert_int_equal(scrape.count, 0);
    talloc_free(memory);
}

TEST(scrape_subtract_leaves_increase_of_counters)
{
    void *memory = talloc_new(NULL);
    struct metrics_scrape before = read_text(
        memory, "a_total{x=\"1\"} 5\na_total{x=\"2\"} 5\ng 9\nh_count 3\n");
    struct metrics_scrape now = read_text(
        memory, "a_total{x=\"0\"} 4\na_total{x=\"1\"} 7\na_total{x=\"2\"} 1\n"
                "g 8\nh_count 3\n");
    metrics_scrape_subtract(&now, &before);
    assert_int_equal(now.samples[0].value, 4); /* is new */
    assert_int_equal(now.samples[1].value, 2);
    assert_int_equal(now.samples[2].value, 1); /* was reset */
    assert_int_equal(now.samples[3].value, 8); /* is no counter */
    assert_int_equal(now.samples[4].value, 0);
    talloc_free(memory);
}

TEST(scrape_quantile_interpolates_between_bounds)
{
    void *memory = talloc_new(NULL);
    struct metrics_scrape scrape = read_text(memory, TEXT);
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.1) == 0.5);
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.2) == 1);
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.6) == 3);
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 1) == 4);
    assert_true(metrics_scrape_quantile(&scrape, "none", "", 0.5) == 0);
    scrape = read_text(memory, "h_bucket 3\nh_bucket{x=\"1\"} 3\n");
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.5) == 0);
    scrape =
        read_text(memory, "h_bucket{le=\"1\"} 0\nh_bucket{le=\"+Inf\"} 5\n");
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.5) == 1);
    scrape =
        read_text(memory, "h_bucket{le=\"1\"} 0\nh_bucket{le=\"+Inf\"} 0\n");
    assert_true(metrics_scrape_quantile(&scrape, "h", "", 0.5) == 0);
    talloc_free(memory);
}

TEST(scrape_quantile_covers_all_series_with_labels)
{
    void *memory = talloc_new(NULL);
    struct metrics_scrape scrape =
        read_text(memory, "h_bucket{r=\"a\",s=\"1\",le=\"1\"} 1\n"
                          "h_bucket{r=\"a\",s=\"1\",le=\"+Inf\"} 1\n"
                          "h_bucket{r=\"a\",s=\"2\",le=\"1\"} 3\n"
                          "h_bucket{r=\"a\",s=\"2\",le=\"+Inf\"} 3\n"
                          "h_bucket{r=\"b\",s=\"1\",le=\"1\"} 0\n"
                          "h_bucket{r=\"b\",s=\"1\",le=\"+Inf\"} 9\n");
    assert_true(metrics_scrape_quantile(&scrape, "h", "r=\"a\",", 1) == 1);
    assert_true(metrics_scrape_quantile(&scrape, "h", "r=\"a\",", 0.5) == 0.5);
    talloc_free(memory);
}
