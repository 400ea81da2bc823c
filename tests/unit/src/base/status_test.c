/* The list of statuses and the description of a failure. */
#include "kindex.h"
#include "unit.h"

TEST(each_status_has_its_own_name_and_title)
{
    for (int i = KX_OK; i <= KX_FAILED; i++) {
        assert_memory_equal(kx_status_name(i), "KX_", 3);
        assert_true(strlen(kx_status_title(i)) > 0);
        for (int k = KX_OK; k < i; k++) {
            assert_string_not_equal(kx_status_name(i), kx_status_name(k));
            assert_string_not_equal(kx_status_title(i), kx_status_title(k));
        }
    }
    assert_string_equal(kx_status_name(KX_UNIQUE_VIOLATION),
                        "KX_UNIQUE_VIOLATION");
    assert_string_equal(kx_status_title(KX_DISK_FULL), "the disk is full");
}

TEST(number_outside_the_statuses_has_texts)
{
    assert_non_null(kx_status_name((enum kx_status)(KX_FAILED + 1)));
    assert_non_null(kx_status_title((enum kx_status) - 1));
}

TEST(fail_without_fault_returns_the_status)
{
    assert_int_equal(kx_fail(NULL, KX_BUSY, "queue of %d", 7), KX_BUSY);
}

TEST(fail_sets_every_member_of_the_fault)
{
    struct kx_fault fault;
    memset(&fault, 'x', sizeof(fault));
    assert_int_equal(kx_fail(&fault, KX_BAD_KEY, "part %d of %s", 2, "key"),
                     KX_BAD_KEY);
    assert_int_equal(fault.status, KX_BAD_KEY);
    assert_string_equal(fault.detail, "part 2 of key");
    assert_string_equal(fault.pointer, "");
    assert_int_equal(fault.offset, 0);
}

TEST(detail_may_be_formatted_from_the_old_detail)
{
    struct kx_fault fault;
    kx_fail(&fault, KX_BAD_KEY, "no part");
    kx_fail(&fault, KX_BAD_INDEX, "prefix: %s", fault.detail);
    assert_string_equal(fault.detail, "prefix: no part");
}

TEST(long_detail_is_cut_between_characters)
{
    static const struct {
        const char *character;
        size_t size;
    } cases[] = {{"x", 1}, {"é", 2}, {"漢", 3}, {"😀", 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t ahead = 0; ahead < 4; ahead++) {
            char text[2 * KX_DETAIL_MAX + 8] = "";
            memset(text, '.', ahead);
            while (strlen(text) < KX_DETAIL_MAX + 4)
                strcat(text, cases[i].character);
            struct kx_fault fault;
            kx_fail(&fault, KX_BAD_JSON, "%s", text);

            size_t size = strlen(fault.detail);
            assert_true(kx_utf8_valid(kx_text(fault.detail)));
            assert_true(size > KX_DETAIL_MAX - 1 - cases[i].size);
            assert_memory_equal(fault.detail, text, size);
        }
}

TEST(detail_that_just_fits_is_complete)
{
    char text[KX_DETAIL_MAX];
    memset(text, '.', sizeof(text));
    memcpy(text + sizeof(text) - 3, "é", 3);
    struct kx_fault fault;
    kx_fail(&fault, KX_BAD_JSON, "%s", text);
    assert_string_equal(fault.detail, text);
}
