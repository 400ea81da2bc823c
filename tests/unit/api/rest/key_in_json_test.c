/* Keys that clients write as JSON: what is refused, with which error. What is
 * taken is the core's, and tested there. */
#include "rest/key_text.h"
#include "unit.h"

TEST_WITH(json_keys_come_back_unchanged, memory_open, memory_close)
{
    static const char *const KEYS[] = {
        "[]",
        "[\"users\",42,true,false,\"\"]",
        "[-1.5,1e+21,0]",
        "[{\"type\":\"bigint\",\"value\":\"-123456789012345678901\"}]",
        "[{\"type\":\"Uint8Array\",\"value\":\"AQID\",\"byteLength\":3}]",
        "[{\"type\":\"number\",\"value\":\"NaN\"}]",
        "[{\"type\":\"number\",\"value\":\"-NaN\"}]",
        "[{\"type\":\"number\",\"value\":\"-0\"}]",
        "[\"\\u0000\",\"\xc3\xa9\"]",
    };
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        struct kx_buffer key, back;
        struct input_error error;
        kx_buffer_init(&key, *state);
        kx_buffer_init(&back, *state);
        if (!key_text_from_any_json(kx_text(KEYS[i]), &key, &error))
            fail_msg("%s: %s", KEYS[i], error.detail);
        kx_key_to_json(kx_buffer_slice(&key), &back);
        kx_add_byte(&back, '\0');
        assert_string_equal(back.data, KEYS[i]);
        kx_buffer_free(&key);
        kx_buffer_free(&back);
    }
}

static const struct {
    const char *json;
    enum problem_code code;
    const char *pointer;
} REFUSED[] = {
    {"", PROBLEM_BAD_JSON, ""},
    {"users", PROBLEM_BAD_JSON, ""},
    {"\"users\"", PROBLEM_BAD_KEY, ""},
    {"{}", PROBLEM_BAD_KEY, ""},
    {"[null]", PROBLEM_BAD_KEY, "/0"},
    {"[\"a\",[1]]", PROBLEM_BAD_KEY, "/1"},
    {"[9007199254740993]", PROBLEM_KEY_NUMBER_INEXACT, "/0"},
    {"[1,{}]", PROBLEM_BAD_KEY, "/1"},
    {"[{\"type\":\"bigint\",\"value\":1}]", PROBLEM_BAD_KEY, "/0"},
    {"[{\"type\":\"bigint\",\"value\":\"1.5\"}]", PROBLEM_BAD_KEY, "/0"},
    {"[{\"type\":\"bigint\",\"value\":\"1\",\"x\":1}]", PROBLEM_BAD_KEY, "/0"},
    {"[{\"type\":\"Date\",\"value\":\"x\"}]", PROBLEM_BAD_KEY, "/0"},
    {"[{\"type\":\"Uint8Array\",\"value\":\"AQI=\"}]", PROBLEM_BAD_KEY, "/0"},
    {"[{\"type\":\"Uint8Array\",\"value\":\"AQID\",\"byteLength\":2}]",
     PROBLEM_BAD_KEY, "/0"},
    {"[\"\\ud800\"]", PROBLEM_BAD_JSON, ""},
};

TEST_WITH(json_keys_of_other_forms_are_refused, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct kx_buffer key;
        struct input_error error = {0};
        kx_buffer_init(&key, *state);
        if (key_text_from_any_json(kx_text(REFUSED[i].json), &key, &error))
            fail_msg("%s was taken", REFUSED[i].json);
        if (error.code != REFUSED[i].code ||
            strcmp(error.pointer, REFUSED[i].pointer) != 0)
            fail_msg("%s: %d at \"%s\": %s", REFUSED[i].json, error.code,
                     error.pointer, error.detail);
        kx_buffer_free(&key);
    }
}
