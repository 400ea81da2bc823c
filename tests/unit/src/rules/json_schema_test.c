/* JSON Schema: what is refused at compilation, and which violation a check
 * describes. The official suite is json_schema_suite_test. */
#include "rules/json_schema.h"

#include "unit.h"

/* A schema, a value, and the violation; keyword NULL: the value is right. */
struct schema_case {
    const char *schema;
    const char *value;
    const char *keyword;
    const char *pointer;
    const char *expected;
};

static void check_case(const struct schema_case *row)
{
    void *memory = talloc_new(NULL);
    struct json_schema *schema;
    struct kx_fault fault;
    struct json_schema_violation violation;
    if (json_schema_compile(kx_text(row->schema), memory, &schema, &fault) !=
        KX_OK)
        fail_msg("%s: %s", row->schema, fault.detail);
    assert_int_equal(kx_json_check(kx_text(row->value), NULL), KX_OK);
    enum kx_status status =
        json_schema_check(schema, kx_text(row->value), NULL, &violation);
    if (row->keyword == NULL) {
        if (status != KX_OK)
            fail_msg("%s, %s: %s: %s", row->schema, row->value,
                     violation.keyword, violation.expected);
    } else {
        if (status != KX_CHECK_FAILED)
            fail_msg("%s, %s: allowed", row->schema, row->value);
        assert_string_equal(violation.keyword, row->keyword);
        assert_string_equal(violation.pointer, row->pointer);
        assert_string_equal(violation.expected, row->expected);
    }
    talloc_free(memory);
}

TEST(violation_names_keyword_pointer_and_what_would_be_right)
{
    static const char order[] =
        "{\"type\":\"object\",\"required\":[\"status\",\"total\"],"
        "\"properties\":{\"status\":{\"enum\":[\"open\",\"paid\"]},"
        "\"total\":{\"type\":\"number\",\"minimum\":0,\"maximum\":99.5},"
        "\"a/b\":{\"properties\":{\"~\":{\"type\":\"integer\"}}}}}";
    static const struct schema_case rows[] = {
        {order, "{\"status\":\"open\",\"total\":1}", NULL, NULL, NULL},
        {order, "{\"status\":\"open\",\"total\":9.95e1}", NULL, NULL, NULL},
        {order, "[]", "type", "", "an object"},
        {order, "{\"total\":1}", "required", "", "a member \"status\""},
        {order, "{\"status\":\"o\",\"total\":1}", "enum", "/status",
         "one of \"open\", \"paid\""},
        {order, "{\"total\" : \"1\"}", "type", "/total", "a number"},
        {order, "{\"total\":-0.1}", "minimum", "/total", "at least 0"},
        {order, "{\"total\":99.50000000000000000001}", "maximum", "/total",
         "at most 99.5"},
        {order, "{\"a/b\":{\"\\u007e\":1.5}}", "type", "/a~1b/~0",
         "an integer"},
        {"false", "1", "", "", "no value at all"},
        {"{\"type\":[\"null\",\"boolean\"]}", "1", "type", "",
         "null or a boolean"},
        {"{\"type\":\"integer\"}", "1.00", NULL, NULL, NULL},
        {"{\"type\":\"integer\"}", "100e-2", NULL, NULL, NULL},
        {"{\"type\":\"integer\"}", "1.0001", "type", "", "an integer"},
        {"{\"type\":\"integer\"}", "10e-2", "type", "", "an integer"},
        {"{\"type\":\"integer\"}", "0e-400", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_case(&rows[i]);
}

/* A schema that is refused, with the pointer into it and the reason. */
struct schema_refusal {
    const char *schema;
    const char *pointer;
    const char *detail;
    const char *suggestion;
};

TEST(wrong_schema_is_refused_with_its_pointer)
{
    static const struct schema_refusal rows[] = {
        {"1", "", "a schema is an object, true or false", ""},
        {"{\"properties\":{\"a\":{\"requierd\":[]}}}", "/properties/a/requierd",
         "there is no keyword \"requierd\" (names of your own begin with x-)",
         "required"},
        {"{\"type\":[\"null\",\"text\"]}", "/type/1",
         "a type is null, boolean, number, integer, string, array or object",
         ""},
        {"{\"minimum\":\"1\"}", "/minimum", "minimum is a number", ""},
        {"{\"required\":[\"a\",\"\\u0061\"]}", "/required/1",
         "the name is listed twice", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_schema *schema;
        struct kx_fault fault;
        assert_int_equal(
            json_schema_compile(kx_text(rows[i].schema), NULL, &schema, &fault),
            KX_BAD_VALUE);
        assert_string_equal(fault.pointer, rows[i].pointer);
        assert_string_equal(fault.detail, rows[i].detail);
        assert_string_equal(fault.suggestion, rows[i].suggestion);
    }
}
