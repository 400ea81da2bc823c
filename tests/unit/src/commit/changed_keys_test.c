/* Every key that was noted is found, and few others are. */
#include "commit/changed_keys.h"

#include "unit.h"

enum { KEYS = 200000 };

static struct net_change change(char *text, size_t size, int n)
{
    snprintf(text, size, "users\x01user-%d", n);
    return (struct net_change){.key = kx_text(text)};
}

TEST(filter_reports_added_keys_and_few_others)
{
    struct changed_keys *touched = changed_keys_create(*state);
    char text[32];
    size_t others = 0;
    assert_non_null(touched);
    for (int n = 0; n < KEYS; n++) {
        struct net_change one = change(text, sizeof text, n);
        assert_false(n == 0 && changed_keys_may_have(touched, one.key));
        changed_keys_note(touched, &one, 1);
    }
    for (int n = 0; n < KEYS; n++)
        assert_true(
            changed_keys_may_have(touched, change(text, sizeof text, n).key));
    for (int n = KEYS; n < 3 * KEYS; n++)
        others +=
            changed_keys_may_have(touched, change(text, sizeof text, n).key);
    assert_true(others < 20);
    talloc_free(touched);
}

TESTS_SHARE(memory_open, memory_close)
