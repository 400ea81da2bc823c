/* Prefer: wait=N, and other preferences. */
#include "http/accept.h"
#include "unit.h"

TEST(prefer_wait_is_found_among_other_preferences)
{
    assert_int_equal(prefer_wait("wait=10"), 10);
    assert_int_equal(prefer_wait("respond-async, wait=5"), 5);
    assert_int_equal(prefer_wait("WAIT = 7 , handling=strict"), 7);
    assert_int_equal(prefer_wait("wait=\"12\""), 12);
    assert_int_equal(prefer_wait("wait=3; foo=bar"), 3);
    assert_int_equal(prefer_wait("x,,wait=3"), 3);
}

TEST(prefer_wait_is_limited)
{
    assert_int_equal(prefer_wait("wait=60"), PREFER_WAIT_MAX);
    assert_int_equal(prefer_wait("wait=61"), PREFER_WAIT_MAX);
    assert_int_equal(prefer_wait("wait=99999999999999999999"), PREFER_WAIT_MAX);
}

TEST(prefer_wait_ignores_other_texts)
{
    static const char *const texts[] = {
        "",          "wait",    "wait=",    "wait=-1",        "wait=1x",
        "waiting=5", "await=5", "wait=\"5", "return=minimal", "wait 5",
        ",",         "wait=5 6"};
    assert_int_equal(prefer_wait(NULL), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(prefer_wait(texts[i]), 0);
}

TEST(prefer_has_finds_preferences)
{
    assert_true(prefer_has("server-timing", "server-timing"));
    assert_true(prefer_has("wait=5, Server-Timing ;x", "server-timing"));
    assert_false(prefer_has("server-timings", "server-timing"));
    assert_false(prefer_has("wait=server-timing", "server-timing"));
    assert_false(prefer_has(NULL, "server-timing"));
}

TEST(prefer_says_compares_the_value)
{
    static const char *const said[] = {
        "return=representation", "wait=5, return = representation",
        "Return=\"representation\"", "return=representation; x=y, wait=1",
        "x,return=representation ,y"};
    static const char *const other[] = {"",
                                        "return",
                                        "return=",
                                        "return=minimal",
                                        "return=representations",
                                        "return=\"representation",
                                        "return representation",
                                        "returns=representation",
                                        "x=\"y\", minimal=representation"};
    assert_false(prefer_says(NULL, "return", "representation"));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_true(prefer_says(said[i], "return", "representation"));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(prefer_says(other[i], "return", "representation"));
}
