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

/* Appends a text so many times. */
static void repeat(struct kx_buffer *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kx_add_text(out, text);
}

/* What a check says and costs. */
struct schema_outcome {
    enum kx_status status;
    uint64_t units;
    struct json_schema_violation violation;
};

static struct schema_outcome check_text(void *memory, const char *text,
                                        struct kx_slice json)
{
    struct json_schema *schema;
    struct kx_fault fault;
    struct schema_outcome outcome;
    struct charge charge = {.spent = 0};
    if (json_schema_compile(kx_text(text), memory, &schema, &fault) != KX_OK)
        fail_msg("%s: %s", text, fault.detail);
    outcome.status =
        json_schema_check(schema, json, &charge, &outcome.violation);
    outcome.units = charge.spent;
    talloc_free(schema);
    return outcome;
}

/* Without memory of results, each level would double or treble the work. */
TEST(references_inside_choices_do_not_multiply)
{
    static const char *const schemas[] = {
        "{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}},"
        "\"required\":[\"x\"]},{\"properties\":{\"a\":{\"$ref\":\"#\"}},"
        "\"required\":[\"y\"]},{\"properties\":{\"a\":{\"$ref\":\"#\"}}}]}",
        "{\"properties\":{\"a\":{\"$ref\":\"#\"}},"
        "\"allOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}}}]}",
        "{\"oneOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}},"
        "\"required\":[\"x\"]},{\"not\":{\"properties\":{\"a\":{\"not\":"
        "{\"$ref\":\"#\"}}},\"required\":[\"a\"]}}]}"};
    void *memory = talloc_new(NULL);
    struct kx_buffer json;
    kx_buffer_init(&json, memory);
    repeat(&json, "{\"a\":", 60);
    kx_add_text(&json, "1");
    repeat(&json, "}", 60);
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        struct schema_outcome outcome =
            check_text(memory, schemas[i], kx_buffer_slice(&json));
        if (outcome.units > 200 * json.size)
            fail_msg("%s: %llu units", schemas[i],
                     (unsigned long long)outcome.units);
    }
    talloc_free(memory);
}

/* Schemas and what is repeated in an array. */
TEST(costly_check_is_ended_with_a_violation)
{
    static const struct schema_case rows[] = {
        {"{\"items\":{\"not\":{\"pattern\":\"a(a?){900}b\"}}}",
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
         "pattern", "", ""},
        {"{\"items\":{\"enum\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,"
         "19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,"
         "41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,"
         "63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,"
         "85,86,87,88,89,90,91,92,93,94,95,96,97,98,99]}}",
         "99", "enum", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *memory = talloc_new(NULL);
        struct kx_buffer json;
        kx_buffer_init(&json, memory);
        kx_add_text(&json, "[");
        kx_add_text(&json, rows[i].value);
        for (size_t n = 0; n < 3000; n++) {
            kx_add_text(&json, ",");
            kx_add_text(&json, rows[i].value);
        }
        kx_add_text(&json, "]");
        struct schema_outcome outcome =
            check_text(memory, rows[i].schema, kx_buffer_slice(&json));
        assert_int_equal(outcome.status, KX_CHECK_FAILED);
        assert_string_equal(outcome.violation.keyword, rows[i].keyword);
        assert_string_equal(
            outcome.violation.expected,
            "a value that takes at most 100 units of work a byte to check");
        assert_true(outcome.units <
                    2 * (JSON_SCHEMA_UNITS_MORE +
                         JSON_SCHEMA_UNITS_PER_BYTE * json.size));
        talloc_free(memory);
    }
}

TEST(unique_items_are_found_in_any_number)
{
    void *memory = talloc_new(NULL);
    static const size_t counts[] = {
        2, 12, 13, 5000, JSON_SCHEMA_UNIQUE_MAX, JSON_SCHEMA_UNIQUE_MAX + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct kx_buffer json;
        struct schema_outcome outcome;
        bool too_many = counts[i] > JSON_SCHEMA_UNIQUE_MAX;
        char text[32];
        kx_buffer_init(&json, memory);
        kx_add_text(&json, "[[-1.50]");
        for (size_t n = 2; n < counts[i]; n++) {
            snprintf(text, sizeof text, ",[%zu]", n);
            kx_add_text(&json, text);
        }
        size_t size = json.size;
        kx_add_text(&json, ",[1.5]]");
        outcome = check_text(memory, "{\"uniqueItems\":true}",
                             kx_buffer_slice(&json));
        assert_int_equal(outcome.status, too_many ? KX_CHECK_FAILED : KX_OK);
        json.size = size;
        kx_add_text(&json, ",[-15e-1]]");
        outcome = check_text(memory, "{\"uniqueItems\":true}",
                             kx_buffer_slice(&json));
        assert_int_equal(outcome.status, KX_CHECK_FAILED);
        assert_string_equal(outcome.violation.keyword, "uniqueItems");
        snprintf(text, sizeof text, "/%zu", counts[i] - 1);
        assert_string_equal(outcome.violation.pointer, too_many ? "" : text);
        kx_buffer_free(&json);
    }
    talloc_free(memory);
}

TEST(numbers_are_exact_at_any_size)
{
    static const struct schema_case rows[] = {
        {"{\"multipleOf\":0.01}", "129.95", NULL, NULL, NULL},
        {"{\"multipleOf\":0.01}", "129.955", "multipleOf", "",
         "a multiple of 0.01"},
        {"{\"multipleOf\":0.1}", "0.3", NULL, NULL, NULL},
        {"{\"multipleOf\":3}", "1e300", "multipleOf", "", "a multiple of 3"},
        {"{\"multipleOf\":3}", "3e300", NULL, NULL, NULL},
        {"{\"multipleOf\":3e-400000000}", "1e300", "multipleOf", "",
         "a multiple of 3e-400000000"},
        {"{\"multipleOf\":2e-400000000}", "1e300", NULL, NULL, NULL},
        {"{\"multipleOf\":7}", "-49", NULL, NULL, NULL},
        {"{\"multipleOf\":7}", "0.0", NULL, NULL, NULL},
        {"{\"multipleOf\":7}", "4900000000000000000000000000000000000000001",
         "multipleOf", "", "a multiple of 7"},
        {"{\"minimum\":9007199254740993}", "9007199254740992", "minimum", "",
         "at least 9007199254740993"},
        {"{\"exclusiveMinimum\":0.1}", "0.10", "exclusiveMinimum", "",
         "more than 0.1"},
        {"{\"exclusiveMaximum\":1e2}", "99.99999999999999999999999", NULL, NULL,
         NULL},
        {"{\"exclusiveMaximum\":1e2}", "100.0", "exclusiveMaximum", "",
         "less than 1e2"},
        {"{\"maximum\":-0.5}", "-0.50000000000000000001", NULL, NULL, NULL},
        {"{\"const\":1}", "1.000", NULL, NULL, NULL},
        {"{\"const\":{\"a\":[1]}}", "{\"a\":[1.0]}", NULL, NULL, NULL},
        {"{\"const\":\"a\"}", "\"\\u0061\"", NULL, NULL, NULL},
        {"{\"enum\":[\"\\u0061\",2]}", "\"a\"", NULL, NULL, NULL},
        {"{\"enum\":[\"\\u0061\",2]}", "3", "enum", "",
         "one of \"\\u0061\", 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_case(&rows[i]);
}

TEST(violation_of_each_keyword_says_what_would_be_right)
{
    static const struct schema_case rows[] = {
        {"{\"minLength\":2}", "\"\\ud83d\\ude00\"", "minLength", "",
         "a string of at least 2 characters"},
        {"{\"maxLength\":1}", "\"\xc3\xa9\xc3\xa9\"", "maxLength", "",
         "a string of at most 1 characters"},
        {"{\"properties\":{\"a\":{\"pattern\":\"^a\"}}}", "{\"a\":\"b\"}",
         "pattern", "/a", "a string that matches \"^a\""},
        {"{\"additionalProperties\":false,\"properties\":{\"a\":true}}",
         "{\"a\":1,\"b\":2}", "additionalProperties", "/b", "no member \"b\""},
        {"{\"propertyNames\":{\"maxLength\":1}}", "{\"a\":1,\"bc\":2}",
         "maxLength", "/bc", "a string of at most 1 characters"},
        {"{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}",
         "{\"x1\":null,\"x2\":0}", "type", "/x2", "null"},
        {"{\"minProperties\":2}", "{\"a\":1}", "minProperties", "",
         "an object of at least 2 members"},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "dependentRequired", "", "a member \"b\""},
        {"{\"prefixItems\":[true,{\"type\":\"string\"}],\"items\":false}",
         "[1,\"a\",2]", "items", "/2", "no value at all"},
        {"{\"contains\":{\"const\":1},\"minContains\":2}", "[1,2]",
         "minContains", "", "at least 2 elements as contains says"},
        {"{\"maxItems\":1}", "[1,2]", "maxItems", "",
         "an array of at most 1 elements"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":3}]}", "1", "anyOf", "",
         "a value for one of the 2 schemas of anyOf"},
        {"{\"oneOf\":[{\"minimum\":0},{\"maximum\":3}]}", "1", "oneOf", "",
         "a value for only one of the 2 schemas of oneOf"},
        {"{\"not\":{\"type\":\"null\"}}", "null", "not", "", "another value"},
        {"{\"if\":{\"type\":\"null\"},\"else\":{\"minimum\":3}}", "1",
         "minimum", "", "at least 3"},
        {"{\"$ref\":\"#/$defs/a%25b\",\"$defs\":{\"a%b\":{\"const\":1}}}", "2",
         "const", "", "1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_case(&rows[i]);
}

/* A schema that is made of a repeated text. */
struct schema_large {
    const char *begin;
    const char *repeated;
    size_t count;
    const char *end;
    const char *detail;
};

TEST(schema_without_end_or_too_large_is_refused)
{
    static const struct schema_large rows[] = {
        {"{\"$ref\":\"#\"", "", 0, "}",
         "the schema applies itself to the same value, without end"},
        {"{\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":"
         "{\"not\":{\"$ref\":\"#/$defs/a\"}}}",
         "", 0, "}",
         "the schema applies itself to the same value, without end"},
        {"", "{\"not\":", JSON_SCHEMA_CHAIN_MAX + 1,
         "true}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}",
         "more than 32 schemas apply one another to the same value"},
        {"{\"allOf\":[", "{\"$ref\":\"#/$defs/a\"},",
         JSON_SCHEMA_REFERENCES_MAX + 1, "true],\"$defs\":{\"a\":true}}",
         "the schema has more than 1000 references"},
        {"{\"allOf\":[", "{\"pattern\":\"a{1000}\"},", 11, "true]}",
         "the patterns of the schema have more than 10000 characters with "
         "their repeats written out"},
        {"{\"title\":\"", "a", JSON_SCHEMA_SIZE_MAX, "\"}",
         "a schema has at most 65536 bytes"},
        {"{\"const\":", "[", 65,
         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
         "a value has at most 64 arrays and objects inside each other"},
        {"{\"multipleOf\":", "9", 19, "}", "multipleOf has at most 18 digits"},
        {"{\"multipleOf\":-1", "", 0, "}", "multipleOf is greater than 0"},
        {"{\"$ref\":\"#/$defs/a\"", "", 0, "}",
         "$ref leads to nothing in the schema"},
        {"{\"minLength\":1.5", "", 0, "}",
         "minLength is an integer of at least 0"},
        {"{\"pattern\":\"(?=a)\"", "", 0, "}",
         "character 2 of the pattern: look-around and flags are not "
         "supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *memory = talloc_new(NULL);
        struct json_schema *schema;
        struct kx_fault fault;
        struct kx_buffer text;
        kx_buffer_init(&text, memory);
        kx_add_text(&text, rows[i].begin);
        repeat(&text, rows[i].repeated, rows[i].count);
        kx_add_text(&text, rows[i].end);
        assert_int_equal(kx_json_check_document(kx_buffer_slice(&text), NULL),
                         KX_OK);
        assert_int_equal(json_schema_compile(kx_buffer_slice(&text), memory,
                                             &schema, &fault),
                         KX_BAD_VALUE);
        assert_string_equal(fault.detail, rows[i].detail);
        talloc_free(memory);
    }
}

/* Four schemas apply to each level: more than the depth allows. */
TEST(check_that_nests_too_deep_is_ended_with_a_violation)
{
    void *memory = talloc_new(NULL);
    struct kx_buffer json;
    kx_buffer_init(&json, memory);
    repeat(&json, "[", KX_JSON_DEPTH_MAX);
    repeat(&json, "]", KX_JSON_DEPTH_MAX);
    struct schema_outcome outcome = check_text(
        memory,
        "{\"allOf\":[{\"allOf\":[{\"allOf\":[{\"items\":{\"$ref\":\"#\"}}]}]}]"
        "}",
        kx_buffer_slice(&json));
    assert_int_equal(outcome.status, KX_CHECK_FAILED);
    assert_string_equal(outcome.violation.expected,
                        "at most 200 schemas that apply inside each other");
    outcome = check_text(memory, "{\"items\":{\"$ref\":\"#\"}}",
                         kx_buffer_slice(&json));
    assert_int_equal(outcome.status, KX_OK);
    talloc_free(memory);
}
