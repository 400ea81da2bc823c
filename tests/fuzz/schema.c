/* A JSON Schema and a value, a line each. The schema is refused with a reason
 * and a pointer, or the check keeps to its units, shows a place in the value,
 * and gives the same verdict for the same value in other characters and for the
 * same schema in other words. */
#include "fuzz.h"
#include "rules/json_schema.h"

/* NULL: refused. */
static struct json_schema *compile(struct kx_slice text, void *memory)
{
    struct json_schema *schema;
    struct kx_fault fault = {.detail = ""};
    size_t blocks = talloc_total_blocks(memory);
    enum kx_status status = json_schema_compile(text, memory, &schema, &fault);
    if (status == KX_OK)
        return schema;
    assert_int_equal(status, KX_BAD_VALUE);
    assert_true(fault.detail[0] != '\0');
    assert_int_equal(talloc_total_blocks(memory), blocks);
    return NULL;
}

static void check_place(const struct json_schema_violation *violation,
                        struct kx_slice json)
{
    struct kx_slice value;
    assert_true(violation->expected[0] != '\0');
    assert_true(kx_utf8_valid(kx_text(violation->expected)));
    assert_true(kx_json_find(json, kx_text(violation->pointer), &value));
    assert_true(violation->value.data >= json.data);
    assert_true(violation->value.data + violation->value.size <=
                json.data + json.size);
}

static bool is_costly(const struct json_schema_violation *violation)
{
    return strstr(violation->expected, "units of work") != NULL ||
           strstr(violation->expected, "inside each other") != NULL;
}

/* KX_OK, KX_CHECK_FAILED; KX_AGAIN: the check was ended. */
static enum kx_status check(const struct json_schema *schema,
                            struct kx_slice json)
{
    struct charge charge = {.spent = 0};
    struct json_schema_violation violation;
    enum kx_status status =
        json_schema_check(schema, json, &charge, &violation);
    assert_true(charge.spent <= 2 * (JSON_SCHEMA_UNITS_MORE +
                                     json.size * JSON_SCHEMA_UNITS_PER_BYTE));
    if (status == KX_OK)
        return status;
    assert_int_equal(status, KX_CHECK_FAILED);
    check_place(&violation, json);
    return is_costly(&violation) ? KX_AGAIN : status;
}

/* Adds spaces between tokens, and writes letters in strings as escapes. */
static struct kx_slice rewrite(struct kx_slice json, void *memory)
{
    struct kx_buffer out;
    bool inside = false;
    kx_buffer_init(&out, memory);
    for (size_t i = 0; i < json.size; i++) {
        uint8_t byte = json.data[i];
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", byte);
        if (byte == '"')
            inside = !inside;
        if (inside && byte == '\\')
            kx_add(&out, json.data + i++, 2);
        else if (inside && (uint8_t)((byte | 0x20) - 'a') < 26)
            kx_add_text(&out, escape);
        else
            kx_add_byte(&out, byte);
        if (!inside && strchr("{}[],:", byte) != NULL)
            kx_add_text(&out, " \n");
    }
    return fuzz_alone(kx_buffer_slice(&out), memory);
}

/* The escape "\u0061" has letters after its backslash, which rewrite would
 * write as escapes once more. */
static bool can_rewrite(struct kx_slice json)
{
    return memmem(json.data, json.size, "\\u", 2) == NULL;
}

static void compare(enum kx_status verdict, const char *before,
                    struct kx_slice schema, const char *after,
                    struct kx_slice json, void *memory)
{
    struct kx_buffer text;
    kx_buffer_init(&text, memory);
    kx_add_text(&text, before);
    kx_add_slice(&text, schema);
    kx_add_text(&text, after);
    if (kx_json_check_document(kx_buffer_slice(&text), NULL) != KX_OK)
        return;
    struct json_schema *other = compile(kx_buffer_slice(&text), memory);
    enum kx_status status = other != NULL ? check(other, json) : KX_AGAIN;
    if (status != KX_AGAIN)
        assert_int_equal(status, verdict);
}

void fuzz(struct kx_slice input, void *memory)
{
    struct kx_slice text = fuzz_alone(fuzz_until(&input, '\n'), memory);
    struct kx_slice json = fuzz_alone(input, memory);
    if (kx_json_check_document(text, NULL) != KX_OK ||
        kx_json_check(json, NULL) != KX_OK)
        return;
    struct json_schema *schema = compile(text, memory);
    if (schema == NULL)
        return;
    enum kx_status verdict = check(schema, json);
    if (verdict == KX_AGAIN)
        return;
    if (can_rewrite(json)) {
        enum kx_status again = check(schema, rewrite(json, memory));
        if (again != KX_AGAIN)
            assert_int_equal(again, verdict);
    }
    if (memmem(text.data, text.size, "$", 1) != NULL ||
        memmem(text.data, text.size, "\\u0024", 6) != NULL)
        return;
    compare(verdict, "{\"allOf\":[true,", text, "]}", json, memory);
    compare(verdict, "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":", text, "}}",
            json, memory);
    compare(verdict, "{\"oneOf\":[false,", text, "]}", json, memory);
    compare(verdict, "{\"not\":{\"not\":", text, "}}", json, memory);
    compare(verdict, "{\"if\":", text, ",\"then\":true,\"else\":false}", json,
            memory);
}
