/* Jansson as a second opinion on JSON: it takes and refuses the same texts,
 * with differences that are known. */
#include <jansson.h>

#include "all_memory.h"
#include "random_json.h"

enum { TEXTS = 3000, CHANGES_MAX = 3 };

/* Changes a text at random places, with pieces that matter in JSON. */
static void change(uint64_t *seed, const struct kx_buffer *text,
                   struct kx_buffer *out)
{
    static const char *const pieces[] = {"\"",
                                         "\\",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "0",
                                         "-",
                                         ".",
                                         "e",
                                         "1",
                                         "\\u",
                                         "\\ud",
                                         "\\ud800",
                                         "\n",
                                         "\x01",
                                         "\x7f",
                                         "é",
                                         "\xc3",
                                         "\x80",
                                         "\xed\xa0\x80",
                                         "t",
                                         "null",
                                         "\"a\":",
                                         "1e5",
                                         " ",
                                         "\\udc00",
                                         "1e400",
                                         "\\",
                                         "\"b\"",
                                         "12345678901234567890",
                                         "\"\\u0000\":1,"};
    size_t at = random_below(seed, text->size + 1);
    size_t cut = random_below(seed, 3);
    if (cut > text->size - at)
        cut = text->size - at;
    out->size = 0;
    kx_add(out, text->data, at);
    if (random_below(seed, 3) != 0)
        kx_add_text(
            out, random_of(seed, pieces, sizeof(pieces) / sizeof(pieces[0])));
    kx_add(out, text->data + at + cut, text->size - at - cut);
}

static bool is_known_difference(enum kx_status status,
                                const json_error_t *error)
{
    /* Jansson has no integers over 64 bits, and no NUL in names. */
    if (status == KX_OK)
        return json_error_code(error) == json_error_numeric_overflow ||
               json_error_code(error) == json_error_null_byte_in_key;
    return status == KX_JSON_TOO_DEEP;
}

static void compare(struct kx_slice text)
{
    const size_t flags =
        JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    struct kx_fault fault = {.offset = 0};
    json_error_t error;
    uint8_t *exact = malloc(text.size + 1);
    memcpy(exact + 1, text.data, text.size);
    enum kx_status status =
        kx_json_check(kx_slice(exact + 1, text.size), &fault);
    free(exact);
    json_t *json =
        json_loadb((const char *)text.data, text.size, flags, &error);
    if ((status == KX_OK) != (json != NULL) &&
        !is_known_difference(status, &error))
        fail_msg("%.*s\nkindex: %s %s\njansson: %s", (int)text.size,
                 (const char *)text.data, kx_status_name(status), fault.detail,
                 json == NULL ? error.text : "valid");
    assert_true(fault.offset <= text.size);
    json_decref(json);
}

static void jansson_takes_and_refuses_the_same_texts(void **state)
{
    uint64_t seed = random_seed("json_random");
    struct kx_buffer text[2];
    kx_buffer_init(&text[0], *state);
    kx_buffer_init(&text[1], *state);
    kx_add_text(&text[1], "{}");
    for (int i = 0; i < TEXTS; i++) {
        text[0].size = 0;
        random_json(&seed, 5, &text[0]);
        assert_int_equal(kx_json_check(kx_buffer_slice(&text[0]), NULL), KX_OK);
        compare(kx_buffer_slice(&text[0]));
        for (int n = 0; n < 2 * CHANGES_MAX; n++) {
            change(&seed, &text[n % 2], &text[(n + 1) % 2]);
            compare(kx_buffer_slice(&text[(n + 1) % 2]));
        }
    }
    kx_buffer_free(&text[0]);
    kx_buffer_free(&text[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(jansson_takes_and_refuses_the_same_texts,
                                    all_memory_open, all_memory_close),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
