/* If-Match and If-None-Match as checks. */
#include "rest/conditions.h"
#include "unit.h"

enum { ONE = 1, TWO = 2 };
#define TAG_1 "\"00000000000000010000\""
#define TAG_2 "\"00000000000000020000\""

static const struct {
    const char *if_match;
    const char *if_none_match;
    uint64_t stamp; /* of the entry, 0: absent */
    bool holds;
} CASES[] = {
    {NULL, NULL, 0, true},
    {TAG_1, NULL, ONE, true},
    {TAG_1, NULL, TWO, false},
    {TAG_1, NULL, 0, false},
    {TAG_1 ", " TAG_2, NULL, TWO, true},
    {TAG_1 "," TAG_2, NULL, TWO, true},
    {"W/" TAG_1, NULL, ONE, false},
    {"W/" TAG_1 ", " TAG_2, NULL, ONE, false},
    {"W/" TAG_1 ", " TAG_2, NULL, TWO, true},
    {TAG_2 ",W/" TAG_1, NULL, ONE, false},
    {NULL, "W/" TAG_1, ONE, false},
    {"\"00000000000000010000-gzip\"", NULL, ONE, true},
    {"00000000000000010000", NULL, ONE, false},
    {"\"abc\"", NULL, ONE, false},
    {"\"abc\", " TAG_1, NULL, ONE, true},
    {"\"abc", NULL, ONE, false},
    {"\"a,b\", " TAG_1, NULL, ONE, true},
    {"", NULL, ONE, false},
    {"*", NULL, ONE, true},
    {"*", NULL, 0, false},
    {" * ", NULL, ONE, true},
    {NULL, "*", 0, true},
    {NULL, "*", ONE, false},
    {NULL, TAG_1, ONE, false},
    {NULL, TAG_1, TWO, true},
    {NULL, TAG_1, 0, true},
    {NULL, "W/" TAG_1 ", W/" TAG_2, TWO, false},
    {NULL, "\"abc\"", ONE, true},
    {TAG_1, TAG_1, ONE, false},
    {TAG_1, TAG_2, ONE, true},
};

TEST_WITH(conditions_follow_rfc_9110, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct conditions conditions;
        bool holds = true;
        assert_true(conditions_read(CASES[i].if_match, CASES[i].if_none_match,
                                    kx_text("key"), *state, &conditions));
        for (size_t n = 0; n < conditions.count; n++)
            holds &= kx_check_holds(&conditions.checks[n], CASES[i].stamp);
        if (holds != CASES[i].holds)
            fail_msg("If-Match: %s If-None-Match: %s, entry %d",
                     CASES[i].if_match, CASES[i].if_none_match,
                     (int)CASES[i].stamp);
        talloc_free(conditions.checks);
    }
}

TEST(etag_is_versionstamp_in_quotes)
{
    char text[ETAG_SIZE + 1];
    etag_write(ONE, text);
    assert_string_equal(text, TAG_1);
}
