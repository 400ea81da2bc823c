/* Positions in an index of changes: as text and back, and which are gone. */
#include "feeds/feed.h"
#include "unit.h"

#include <talloc.h>

TEST(feed_position_reads_what_it_writes)
{
    static const struct {
        struct feed_position position;
        const char *text;
    } cases[] = {
        {{.stamp = 0x10}, "00000000000000100000"},
        {{.stamp = 0x10, .began = 0x10}, "00000000000000100000"},
        {{.stamp = 0x10, .began = 0x1f},
         "00000000000000100000,000000000000001f0000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feed_position read;
        struct kx_buffer out;
        kx_buffer_init(&out, NULL);
        feed_position_write(&cases[i].position, &out);
        assert_true(kx_equal(kx_buffer_slice(&out), kx_text(cases[i].text)));
        assert_true(feed_position_read(kx_buffer_slice(&out), &read));
        assert_int_equal(read.stamp, cases[i].position.stamp);
        assert_true(read.began == 0 || read.began == cases[i].position.began);
        kx_buffer_free(&out);
    }
}

TEST(feed_position_rejects_other_texts)
{
    static const char *const texts[] = {
        "",
        ",",
        "-",
        "1",
        "0000000000000010000",
        "000000000000001000000",
        "00000000000000100000,",
        ",00000000000000100000",
        "00000000000000100000,-",
        "00000000000000100000 00000000000000100000",
        "00000000000000100000,0000000000000010000g",
        "00000000000000100000,00000000000000100000,",
    };
    struct feed_position read;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(feed_position_read(kx_text(texts[i]), &read));
}

static bool is_gone(uint64_t stamp, uint64_t began)
{
    const struct feed_position position = {.stamp = stamp, .began = began};
    const struct kx_changes changes = {.history = 10, .stamp = 20};
    return feed_position_is_gone(&position, &changes);
}

TEST(feed_position_is_gone_when_a_later_removal_may_be_missing)
{
    assert_true(is_gone(9, 0));
    assert_false(is_gone(10, 0));
    assert_false(is_gone(20, 0));
    assert_true(is_gone(0, 9));
    assert_false(is_gone(0, 10));
}

TEST(feed_position_beyond_all_commits_is_gone)
{
    assert_true(is_gone(21, 0));
    assert_true(is_gone(1, 21));
}
