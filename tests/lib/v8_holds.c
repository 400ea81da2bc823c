#include "v8_holds.h"

void v8_shows(const struct kx_value *value, void *memory)
{
    struct kx_buffer shown;
    struct kx_value again = {.encoding = KX_JSON};
    struct kx_fault fault;
    bool equal = false;
    kx_buffer_init(&shown, memory);
    bool plain = kx_value_to_json(value, &shown);
    again.data = kx_buffer_slice(&shown);
    if (kx_json_check(again.data, &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)shown.size,
                 (const char *)shown.data);
    if (!plain &&
        kx_value_from_typed(again.data, memory, &again, &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)shown.size,
                 (const char *)shown.data);
    assert_int_equal(value_equal(value, &again, memory, &equal), KX_OK);
    if (!equal)
        fail_msg("not the same: %.*s", (int)shown.size,
                 (const char *)shown.data);
}

bool v8_holds(struct kx_slice bytes, void *memory)
{
    struct kx_value value = {.encoding = KX_V8, .data = bytes};
    struct kx_value js;
    struct kx_buffer out;
    struct kx_fault fault;
    bool plain;
    kx_buffer_init(&out, memory);
    enum kx_status checked = kx_v8_check(bytes, memory, &fault);
    enum kx_status normal = v8_normalize(bytes, &out);
    enum kx_status fields = v8_fields(bytes, &out, &plain);
    assert_int_equal(kx_value_for_js(&value, KX_V8_FOR_ANY, &out, &js), KX_OK);
    if (checked != KX_OK) {
        assert_int_equal(checked, KX_BAD_VALUE);
        assert_true(fault.offset <= bytes.size);
        kx_value_to_json(&value, &out);
        return false;
    }
    assert_int_equal(normal, KX_OK);
    assert_int_equal(fields, KX_OK);
    assert_int_equal(kx_v8_check(js.data, memory, &fault), KX_OK);
    if (plain)
        assert_int_equal(kx_v8_to_json(bytes, &out), KX_OK);
    v8_shows(&value, memory);
    return true;
}
