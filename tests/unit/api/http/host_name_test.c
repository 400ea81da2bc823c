/* Hosts of requests: valid ones, and what is no host. */
#include "http/char_class.h"
#include "unit.h"

TEST(host_accepts_names_and_addresses)
{
    static const char *const VALID[] = {
        "a",          "localhost", "kindex.test:4512", "127.0.0.1:80",
        "[::1]",      "[::1]:80",  "[fe80::1.2.3.4]",  "a:",
        "a-b_c.d~!$", "%41",       "(a;b=c)*+'&",
    };
    for (size_t i = 0; i < sizeof VALID / sizeof *VALID; i++)
        if (!host_name_is_valid(kx_text(VALID[i])))
            fail_msg("%s", VALID[i]);
}

TEST(host_rejects_other_texts)
{
    static const char *const INVALID[] = {
        "",     ":",     ":80",   "a,b",  "a b",    "a/b", "a:b",
        "a:1:", "user@", "[]",    "[::1", "[::1]a", "[g]", "[::1]:x",
        "a[",   "::1",   "a\x7f", "ä",    "a\r",    "a\t", "[[::1]]",
    };
    for (size_t i = 0; i < sizeof INVALID / sizeof *INVALID; i++)
        if (host_name_is_valid(kx_text(INVALID[i])))
            fail_msg("%s", INVALID[i]);
    assert_false(host_name_is_valid(kx_slice("a\0b", 3)));
}
