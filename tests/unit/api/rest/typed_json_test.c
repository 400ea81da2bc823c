/* Typed values: what they are stored as, how values are shown, what is
 * refused. */
#include "rest/entryjson.h"
#include "unit.h"

static const struct {
    const char *typed;
    enum kx_encoding encoding;
    const char *data;
    size_t size;
} TAKEN[] = {
    {"{\"type\":\"KvU64\",\"value\":\"1\"}", KX_LE64, "\1\0\0\0\0\0\0\0", 8},
    {"{\"type\":\"KvU64\",\"value\":\"18446744073709551615\"}", KX_LE64,
     "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
    {"{\"type\":\"Uint8Array\",\"value\":\"AQID\"}", KX_BYTES, "\1\2\3", 3},
    {"{\"type\":\"Uint8Array\",\"value\":\"\",\"byteLength\":0}", KX_BYTES, "",
     0},
    {"{\"type\":\"string\",\"value\":\"a\"}", KX_JSON, "\"a\"", 3},
    {"{\"type\":\"number\",\"value\":0.10}", KX_JSON, "0.10", 4},
    {"{\"type\":\"boolean\",\"value\":true}", KX_JSON, "true", 4},
    {"{\"type\":\"null\",\"value\":null}", KX_JSON, "null", 4},
    {"{\"type\":\"Array\",\"value\":[{\"type\":\"number\",\"value\":1},"
     "{\"type\":\"null\",\"value\":null}]}",
     KX_JSON, "[1,null]", 8},
    {"{\"type\":\"object\",\"value\":{\"a\":{\"type\":\"Array\",\"value\":[]},"
     "\"b\":{\"type\":\"string\",\"value\":\"x\"}}}",
     KX_JSON, "{\"a\":[],\"b\":\"x\"}", 16},
    {"{\"type\":\"bigint\",\"value\":\"-1\"}", KX_V8,
     "\xff\x0fZ\x11\1\0\0\0\0\0\0\0", 12},
    {"{\"type\":\"Map\",\"value\":[]}", KX_V8, "\xff\x0f;:\0", 5},
    {"{\"type\":\"number\",\"value\":\"NaN\"}", KX_V8,
     "\xff\x0fN\0\0\0\0\0\0\xf8\x7f", 11},
    {"{\"type\":\"Date\",\"value\":\"1970-01-01T00:00:00.000Z\"}", KX_V8,
     "\xff\x0f\x44\0\0\0\0\0\0\0\0", 11},
    {"{\"type\":\"V8\",\"value\":\"_w9f\"}", KX_V8, "\xff\x0f_", 3},
};

static bool take(const char *json, void *memory, struct kx_value *value,
                 struct input_error *error)
{
    assert_int_equal(kx_json_check(kx_text(json), NULL), KX_OK);
    return entryjson_read_typed(kx_text(json), memory, value, error);
}

TEST_WITH(typed_values_are_stored_in_their_encoding, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++) {
        struct kx_value value;
        struct input_error error;
        if (!take(TAKEN[i].typed, *state, &value, &error))
            fail_msg("%s: %s", TAKEN[i].typed, error.detail);
        assert_int_equal(value.encoding, TAKEN[i].encoding);
        assert_true(
            kx_equal(value.data, kx_slice(TAKEN[i].data, TAKEN[i].size)));
    }
    talloc_free_children(*state);
}

TEST_WITH(malformed_typed_values_are_refused, memory_open, memory_close)
{
    static const char *const REFUSED[] = {
        "1",
        "{}",
        "{\"type\":\"KvU64\"}",
        "{\"type\":1,\"value\":\"1\"}",
        "{\"type\":\"KvU64\",\"value\":1}",
        "{\"type\":\"KvU64\",\"value\":\"\"}",
        "{\"type\":\"KvU64\",\"value\":\"-1\"}",
        "{\"type\":\"KvU64\",\"value\":\"18446744073709551616\"}",
        "{\"type\":\"KvU64\",\"value\":\"1\",\"x\":1}",
        "{\"type\":\"Uint8Array\",\"value\":\"AQI=\"}",
        "{\"type\":\"Uint8Array\",\"value\":\"AQID\",\"byteLength\":4}",
        "{\"type\":\"Uint8Array\",\"value\":\"\",\"mediaType\":\"\"}",
        "{\"type\":\"Uint8Array\",\"value\":\"\",\"mediaType\":\"a\\nb\"}",
        "{\"type\":\"number\",\"value\":\"1\"}",
        "{\"type\":\"string\",\"value\":1}",
        "{\"type\":\"boolean\",\"value\":null}",
        "{\"type\":\"bigint\",\"value\":\"1n\"}",
        "{\"type\":\"Date\",\"value\":\"2026-02-30T00:00:00.000Z\"}",
        "{\"type\":\"Map\",\"value\":[{\"type\":\"null\",\"value\":null}]}",
        "{\"type\":\"V8\",\"value\":\"_w9\"}",
        "{\"type\":\"V8\",\"value\":\"_w9fXw\"}",
        "{\"type\":\"Uint16Array\",\"value\":\"AQID\"}",
        "{\"type\":\"RegExp\",\"value\":\"/a/gg\"}",
        "{\"type\":\"Error\",\"value\":{\"code\":\"E1\"}}",
        "{\"type\":\"hole\"}",
        "{\"type\":\"Symbol\",\"value\":\"a\"}",
        "{\"type\":\"Array\",\"value\":[1]}",
        "{\"type\":\"Array\",\"value\":{}}",
        "{\"type\":\"object\",\"value\":[]}",
        "{\"type\":\"Array\",\"value\":[{\"type\":\"KvU64\",\"value\":\"1\"}]}",
    };
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct kx_value value;
        struct input_error error;
        if (take(REFUSED[i], *state, &value, &error))
            fail_msg("%s was taken", REFUSED[i]);
        assert_int_equal(error.code, PROBLEM_BAD_VALUE);
    }
    talloc_free_children(*state);
}

static void shows(const struct kx_value *value, bool plain, const char *json,
                  void *memory)
{
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    assert_int_equal(kx_value_to_json(value, &out), plain);
    kx_add_byte(&out, '\0');
    assert_string_equal(out.data, json);
    kx_buffer_free(&out);
}

TEST_WITH(values_are_plain_json_where_possible, memory_open, memory_close)
{
    struct kx_value json = {.encoding = KX_JSON, .data = kx_text("0.10")};
    struct kx_value count = {.encoding = KX_LE64,
                             .data = kx_slice("\2\1\0\0\0\0\0\0", 8)};
    struct kx_value bytes = {.encoding = KX_BYTES,
                             .data = kx_text("hi"),
                             .media_type = kx_text("text/plain")};
    shows(&json, true, "0.10", *state);
    shows(&count, false, "{\"type\":\"KvU64\",\"value\":\"258\"}", *state);
    shows(&bytes, false,
          "{\"type\":\"Uint8Array\",\"value\":\"aGk\",\"byteLength\":2,"
          "\"mediaType\":\"text/plain\"}",
          *state);
}

TEST_WITH(pointer_value_is_shown_as_its_key_parts, memory_open, memory_close)
{
    struct kx_buffer parts;
    struct kx_value pointer = {.encoding = KX_POINTER};
    kx_buffer_init(&parts, *state);
    kx_key_add_string(&parts, kx_text("ada"));
    pointer.data = kx_buffer_slice(&parts);
    shows(&pointer, true, "\"ada\"", *state);
    kx_key_add_number(&parts, 42);
    pointer.data = kx_buffer_slice(&parts);
    shows(&pointer, true, "[\"ada\",42]", *state);
    kx_key_add_bigint(&parts, kx_text("7"));
    pointer.data = kx_buffer_slice(&parts);
    shows(&pointer, false,
          "{\"type\":\"Array\",\"value\":["
          "{\"type\":\"string\",\"value\":\"ada\"},"
          "{\"type\":\"number\",\"value\":42},"
          "{\"type\":\"bigint\",\"value\":\"7\"}]}",
          *state);
    kx_buffer_free(&parts);
}
