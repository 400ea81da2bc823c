/* The check of JSON texts finds each name that is repeated in an object,
 * however it is written, how many there are, and whatever they were made for.
 */
#include "all_memory.h"
#include "json_exact.h"
#include "json/json_names.h"
#include "json/json_scan.h"

TEST_WITH(json_check_finds_duplicate_names_in_any_spelling, all_memory_open,
          all_memory_close)
{
    static const char sentence[] =
        "the object already has a member of this name";
    static const struct {
        const char *text;
        size_t offset;
    } wrong[] = {{"{\"a\":1,\"a\":2}", 7},
                 {"{\"a\":1,\"\\u0061\":2}", 7},
                 {"{\"\\u0061\":1,\"a\":2}", 12},
                 {"{\"\":1,\"\":2}", 6},
                 {"{\"a\\u0000\":1,\"a\\u0000\":2}", 13},
                 {"{\"é\":1,\"\\u00e9\":2}", 8},
                 {"{\"x\":{\"a\":1,\"b\":2},\"b\":1,\"x\":2}", 25},
                 {"[{\"😀234567890\":1,\"\\ud83d\\ude00234567890\":2}]", 20},
                 {"{\"a\":1,\"a\":", 7}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct kx_fault fault;
        assert_int_equal(json_exact_check(kx_text(wrong[i].text), &fault),
                         KX_BAD_JSON);
        assert_non_null(strstr(fault.detail, sentence));
        assert_int_equal(fault.offset, wrong[i].offset);
    }
}

/* An object with `count` members that a format makes of their numbers. */
static void add_object(struct kx_buffer *out, const char *format,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), format, i);
        kx_add_text(out, i == 0 ? "{\"" : ",\"");
        kx_add_text(out, name);
        kx_add_text(out, "\":0");
    }
    kx_add_text(out, "}");
}

TEST_WITH(json_check_finds_duplicate_names_in_large_objects, all_memory_open,
          all_memory_close)
{
    static const char *const formats[] = {"%u", "\\u0061%u",
                                          "head5678-%08u-tail5678"};
    static const unsigned counts[] = {31, 32, 33, 34, 63, 64, 65, 100000};
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    for (size_t i = 0; i < 3 * 8; i++) {
        text.size = 0;
        add_object(&text, formats[i % 3], counts[i / 3]);
        assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                         KX_OK);
        char name[64];
        snprintf(name, sizeof(name), formats[i % 3], 7u);
        text.size--;
        size_t offset = text.size + 1;
        kx_add_text(&text, ",\"");
        kx_add_text(&text, name);
        kx_add_text(&text, "\":[true]}");
        assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                         KX_BAD_JSON);
        assert_int_equal(fault.offset, offset);
    }
    kx_buffer_free(&text);
}

static bool is_plain(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (json_is_stop(text[i]) || text[i] == 0x7f)
            return false;
    return true;
}

/* Adds a member with a name of 16 characters and a quote whose hash is that of
 * all others made so: the second half undoes what the first half does. */
static bool add_collision(struct kx_buffer *out, unsigned number)
{
    uint8_t name[20] = "";
    uint64_t half;
    for (int i = 0; i < 8; i++)
        name[i] = (uint8_t)('a' + (number >> 4 * i & 15));
    half = hash_word(16, json_name_word(name)) ^ UINT64_C(0x5555555555555555);
    memcpy(name + 8, &half, 8);
    name[16] = '"';
    if (!is_plain(name, 16))
        return false;
    kx_add_text(out, out->size == 0 ? "{\"" : ",\"");
    kx_add(out, name, 17);
    kx_add_text(out, ":0");
    return true;
}

TEST_WITH(json_check_tells_colliding_names_apart, all_memory_open,
          all_memory_close)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    unsigned count = 0;
    for (unsigned i = 0; count < 100; i++)
        count += add_collision(&text, i);
    const uint8_t *first = text.data + 2;
    const uint8_t *second = first + 21;
    assert_true(json_name_hash(first, first + 16, first + 17) ==
                json_name_hash(second, second + 16, second + 17));
    kx_add_text(&text, "}");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault), KX_OK);
    text.data[text.size - 1] = ',';
    size_t offset = text.size;
    kx_buffer_reserve(&text, 32);
    kx_add(&text, text.data + 1, 18);
    kx_add_text(&text, ":0}");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                     KX_BAD_JSON);
    assert_int_equal(fault.offset, offset);
    kx_buffer_free(&text);
}

TEST_WITH(duplicate_name_before_another_fault_is_reported_first,
          all_memory_open, all_memory_close)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    add_object(&text, "%u", 50);
    text.size--;
    kx_add_text(&text, ",\"1\":[{\"2\":[x]}]}");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                     KX_BAD_JSON);
    assert_memory_equal(text.data + fault.offset, "\"1\":[{", 6);
    kx_buffer_free(&text);
}

TEST_WITH(json_check_reports_lack_of_memory, all_memory_open, all_memory_close)
{
    static const char *const formats[] = {"%u", "\\u0061%u"};
    struct kx_buffer text[2];
    struct kx_slice string = kx_text("[1,2]");
    for (int i = 0; i < 2; i++) {
        kx_buffer_init(&text[i], *state);
        add_object(&text[i], formats[i], 200);
    }
    int done = 0;
    for (size_t limit = 1; limit < 100000; limit += 4999) {
        struct kx_fault fault;
        all_memory_limit(*state, limit);
        assert_int_equal(kx_json_check(string, &fault), KX_OK);
        for (int i = 0; i < 2; i++) {
            enum kx_status status =
                kx_json_check(kx_buffer_slice(&text[i]), &fault);
            done += status == KX_OK;
            assert_true(status == KX_OK || status == KX_NO_MEMORY);
            text[i].size--;
            status = kx_json_check(kx_buffer_slice(&text[i]), &fault);
            assert_true(status == KX_BAD_JSON || status == KX_NO_MEMORY);
            text[i].size++;
        }
    }
    assert_true(done > 0 && done < 42);
    all_memory_limit(*state, 0);
    kx_buffer_free(&text[0]);
    kx_buffer_free(&text[1]);
}
