#include "json_second.h"

enum {
    SECOND_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY |
                   JSON_DECODE_INT_AS_REAL
};

json_t *second_read(struct kx_slice text, json_error_t *error)
{
    return json_loadb((const char *)text.data, text.size, SECOND_FLAGS, error);
}

/* Jansson has no NUL in names, takes a NUL after a number for the end of the
 * text, and its own limit of depth is further away. */
static bool second_differs(struct kx_slice text, enum kx_status status,
                           const json_error_t *error)
{
    if (status == KX_OK)
        return json_error_code(error) == json_error_null_byte_in_key;
    return status == KX_JSON_TOO_DEEP ||
           memchr(text.data, 0, text.size) != NULL;
}

static void second_same_string(struct kx_slice token, const json_t *json)
{
    struct kx_buffer out;
    kx_buffer_init(&out, NULL);
    kx_json_unescape(token, &out);
    assert_true(
        kx_equal(kx_buffer_slice(&out),
                 kx_slice(json_string_value(json), json_string_length(json))));
    kx_buffer_free(&out);
}

static void second_same_array(struct kx_slice text, const json_t *json)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    size_t count = 0;
    assert_true(kx_json_iterate(text, &iter));
    while (kx_json_next(&iter, &name, &value))
        second_same(value, json_array_get(json, count++));
    assert_int_equal(count, json_array_size(json));
}

static void second_same_object(struct kx_slice text, const json_t *json)
{
    struct kx_json_iter iter;
    struct kx_slice name, value;
    struct kx_buffer out;
    size_t count = 0;
    kx_buffer_init(&out, NULL);
    assert_true(kx_json_iterate(text, &iter));
    for (; kx_json_next(&iter, &name, &value); count++) {
        out.size = 0;
        kx_json_unescape(name, &out);
        kx_add_byte(&out, 0);
        const json_t *member = json_object_get(json, (const char *)out.data);
        assert_non_null(member);
        second_same(value, member);
    }
    assert_int_equal(count, json_object_size(json));
    kx_buffer_free(&out);
}

void second_same(struct kx_slice text, const json_t *json)
{
    double number;
    struct kx_slice token;
    assert_true(kx_json_find(text, kx_slice(NULL, 0), &token));
    switch (kx_json_type(text)) {
    case KX_JSON_NULL:
        assert_true(json_is_null(json));
        break;
    case KX_JSON_FALSE:
        assert_true(json_is_false(json));
        break;
    case KX_JSON_TRUE:
        assert_true(json_is_true(json));
        break;
    case KX_JSON_NUMBER:
        assert_true(json_is_number(json));
        assert_true(kx_number_parse(token, &number));
        assert_true(number == json_number_value(json));
        break;
    case KX_JSON_STRING:
        assert_true(json_is_string(json));
        second_same_string(token, json);
        break;
    case KX_JSON_ARRAY:
        assert_true(json_is_array(json));
        second_same_array(text, json);
        break;
    case KX_JSON_OBJECT:
        assert_true(json_is_object(json));
        second_same_object(text, json);
        break;
    }
}

json_t *second_compare(struct kx_slice text)
{
    struct kx_fault fault = {.offset = 0};
    json_error_t error;
    enum kx_status status = json_exact_check(text, &fault);
    json_t *json = second_read(text, &error);
    if ((status == KX_OK) != (json != NULL) &&
        !second_differs(text, status, &error))
        fail_msg("%.*s\nkindex: %s %s\njansson: %s", (int)text.size,
                 (const char *)text.data, kx_status_name(status), fault.detail,
                 json == NULL ? error.text : "valid");
    assert_true(fault.offset <= text.size);
    if (status != KX_OK) {
        json_decref(json);
        return NULL;
    }
    if (json != NULL)
        second_same(text, json);
    return json;
}
