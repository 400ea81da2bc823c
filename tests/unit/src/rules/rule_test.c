/* Rules: one text for all ways to declare the same, which values of which
 * encoding violate them, and when entries expire. */
#include "rules/rule.h"

#include "all_memory.h"

#define BOUNDS "{\"name\":\"r\",\"prefix\":[\"p\"],\"bounds\":%s}"

static struct declaration *parse(void *mem, const char *text)
{
    struct declaration *declaration;
    struct kx_fault fault = {.detail = ""};
    if (rule_parse(mem, kx_text(text), &declaration, &fault) != KX_OK)
        fail_msg("%s: %s", text, fault.detail);
    return declaration;
}

static const char *text_of(void *mem, const char *text)
{
    struct declaration *declaration = parse(mem, text);
    return talloc_strndup(mem, (const char *)declaration->text.data,
                          declaration->text.size);
}

TEST_WITH(rule_has_one_canonical_form, all_memory_open, all_memory_close)
{
    static const char full[] =
        "{ \"bounds\" : { \"max\":1e2, \"min\":0 },\n\"ttl\":{\"from\":\"/a\","
        "\"max\":\"24h\",\"default\":\"60m\"}, \"schema\": {\"type\": \"number"
        "\", \"title\": \" a \\\" b\"},\"depth\":2,\"prefix\":[\"p\",1],"
        "\"name\":\"r\"}";
    static const char canonical[] =
        "{\"name\":\"r\",\"prefix\":[\"p\",1],\"depth\":2,\"schema\":{\"type\":"
        "\"number\",\"title\":\" a \\\" b\"},\"ttl\":{\"default\":\"1h\","
        "\"max\":\"1d\",\"from\":\"/a\"},\"bounds\":{\"min\":0,\"max\":1e2}}";
    void *mem = talloc_new(*state);
    assert_string_equal(text_of(mem, full), canonical);
    assert_string_equal(text_of(mem, canonical), canonical);
    talloc_free(mem);
}

TEST_WITH(rule_without_memory_is_refused_without_leak, all_memory_open,
          all_memory_close)
{
    static const char text[] =
        "{\"name\":\"r\",\"prefix\":[\"p\"],\"schema\":{\"properties\":{\"a\":{"
        "\"enum\":[1,2]}}},\"ttl\":{\"default\":\"1h\"},\"bounds\":{\"min\":0}"
        "}";
    enum kx_status status = KX_NO_MEMORY;
    size_t refused = 0;
    for (size_t bytes = 64; status != KX_OK; bytes += 16, refused++) {
        void *mem = talloc_new(*state);
        struct declaration *declaration;
        all_memory_limit(*state, bytes);
        status = rule_parse(mem, kx_text(text), &declaration, NULL);
        all_memory_limit(*state, 0);
        assert_true(status == KX_OK || status == KX_NO_MEMORY);
        talloc_free(mem);
    }
    assert_true(refused > 10);
}

/* A value of a rule with bounds. expected NULL: it is within them. */
struct bound_case {
    const char *bounds;
    enum kx_encoding encoding;
    struct kx_slice value;
    const char *expected;
};
#define BYTES(text)                                                            \
    {                                                                          \
        (const uint8_t *)(text), sizeof(text) - 1                              \
    }

static const struct bound_case cases[] = {
    {"{\"min\":0}", KX_JSON, BYTES(" 0 "), NULL},
    {"{\"min\":0}", KX_JSON, BYTES("-0"), NULL},
    {"{\"min\":0}", KX_JSON, BYTES("-1e-300"), "a number of at least 0"},
    {"{\"max\":9007199254740992}", KX_JSON, BYTES("9007199254740993"),
     "a number of at most 9007199254740992"},
    {"{\"max\":10}", KX_JSON, BYTES("1.0e1"), NULL},
    {"{\"min\":0,\"max\":10}", KX_JSON, BYTES("\"5\""),
     "a number from 0 to 10"},
    {"{\"min\":0}", KX_JSON, BYTES("{\"type\":\"bigint\",\"value\":\"1\"}"),
     "a number of at least 0"},
    {"{\"min\":0}", KX_BYTES, BYTES("5"), "a number of at least 0"},
    {"{\"max\":18446744073709551614}", KX_LE64,
     BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff"), NULL},
    {"{\"max\":18446744073709551614}", KX_LE64,
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"),
     "a number of at most 18446744073709551614"},
    {"{\"min\":0}", KX_V8, BYTES("\xff\x0fI\x02"), NULL},
    {"{\"min\":0}", KX_V8, BYTES("\xff\x0fI\x01"), "a number of at least 0"},
    {"{\"min\":-1}", KX_V8, BYTES("\xff\x0fZ\x11\x01\0\0\0\0\0\0\0"), NULL},
    {"{\"min\":0}", KX_V8, BYTES("\xff\x0fZ\x11\x01\0\0\0\0\0\0\0"),
     "a number of at least 0"},
};

TEST_WITH(bounds_hold_for_numbers_of_every_encoding, all_memory_open,
          all_memory_close)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *mem = talloc_new(*state);
        const struct bound_case *row = &cases[i];
        struct record record = {.encoding = row->encoding, .value = row->value};
        struct rule_work work;
        struct kx_violation violation;
        struct declaration *declaration =
            parse(mem, talloc_asprintf(mem, BOUNDS, row->bounds));
        rule_work_init(&work, mem);
        enum kx_status status =
            rule_test(declaration, kx_text(""), &record, &work, &violation);
        if (status != (row->expected == NULL ? KX_OK : KX_RULE_VIOLATED))
            fail_msg("row %zu: %s", i, kx_status_name(status));
        if (row->expected != NULL &&
            !kx_equal(violation.expected, kx_text(row->expected)))
            fail_msg("row %zu: %.*s", i, (int)violation.expected.size,
                     (const char *)violation.expected.data);
        talloc_free(mem);
    }
}

static bool is_no_worse(void *mem, const char *before, const char *now)
{
    const struct declaration *rule =
        parse(mem, "{\"name\":\"r\",\"prefix\":[],\"schema\":{\"enum\":[1]"
                   "},\"bounds\":{\"min\":0,\"max\":9}}");
    struct record records[] = {{.encoding = KX_JSON, .value = kx_text(before)},
                               {.encoding = KX_JSON, .value = kx_text(now)}};
    struct rule_work works[2];
    struct kx_violation violations[2];
    for (int i = 0; i < 2; i++) {
        rule_work_init(&works[i], mem);
        assert_int_equal(rule_test(rule, kx_text(""), &records[i], &works[i],
                                   &violations[i]),
                         KX_RULE_VIOLATED);
    }
    return rule_is_no_worse(rule->rule, &violations[0], &violations[1]);
}

TEST_WITH(number_beyond_bounds_may_only_come_closer, all_memory_open,
          all_memory_close)
{
    void *mem = talloc_new(*state);
    assert_true(is_no_worse(mem, "-2", "-2.0"));
    assert_true(is_no_worse(mem, "-2", "-1"));
    assert_false(is_no_worse(mem, "-2", "-3"));
    assert_false(is_no_worse(mem, "-2", "10"));
    assert_true(is_no_worse(mem, "12", "11"));
    assert_false(is_no_worse(mem, "12", "13"));
    assert_false(is_no_worse(mem, "12", "-1"));
    assert_true(is_no_worse(mem, "\"a\"", "null"));
    assert_false(is_no_worse(mem, "\"a\"", "-1"));
    assert_false(is_no_worse(mem, "-1", "\"a\""));
    assert_true(is_no_worse(mem, "7", "7.0"));
    assert_false(is_no_worse(mem, "12", "7"));
    talloc_free(mem);
}

/* What a write at NOW says, the value, and when the entry expires; -1: the
 * write is refused. */
enum { NOW = 1000000, HOUR = 3600000 };
struct expiry_case {
    const char *ttl;
    const char *value;
    int64_t said_ms;
    int64_t expires_at_ms;
};

TEST_WITH(expiry_is_what_rule_and_write_say, all_memory_open, all_memory_close)
{
    static const struct expiry_case rows[] = {
        {"{\"default\":\"1h\"}", "1", 0, NOW + HOUR},
        {"{\"default\":\"1h\"}", "1", NOW + 5, NOW + 5},
        {"{\"default\":\"1h\"}", "1", NOW + 9 * HOUR, NOW + 9 * HOUR},
        {"{\"max\":\"1h\"}", "1", 0, NOW + HOUR},
        {"{\"max\":\"1h\"}", "1", NOW + HOUR, NOW + HOUR},
        {"{\"max\":\"1h\"}", "1", NOW + HOUR + 1, -1},
        {"{\"default\":\"1h\",\"max\":\"2h\"}", "1", 0, NOW + HOUR},
        {"{\"from\":\"/a\"}", "1", 0, 0},
        {"{\"from\":\"/a\"}", "1", 7, 7},
        {"{\"from\":\"/a\"}", "{\"a\":null}", 7, 7},
        {"{\"from\":\"/a\"}", "{\"a\":12.9}", 7, 12},
        {"{\"from\":\"/a\"}", "{\"a\":\"1970-01-01T00:00:01Z\"}", 0, 1000},
        {"{\"from\":\"/a\"}", "{\"a\":\"1970-01-01T01:00:01+01:00\"}", 0, 1000},
        {"{\"from\":\"/a\"}", "{\"a\":0}", 0, -1},
        {"{\"from\":\"/a\"}", "{\"a\":-1}", 0, -1},
        {"{\"from\":\"/a\"}", "{\"a\":1e300}", 0, -1},
        {"{\"from\":\"/a\"}", "{\"a\":true}", 0, -1},
        {"{\"from\":\"/a\"}", "{\"a\":\"tomorrow\"}", 0, -1},
        {"{\"from\":\"/a\",\"max\":\"1h\"}", "{\"a\":4600000}", 0, NOW + HOUR},
        {"{\"from\":\"/a\",\"max\":\"1h\"}", "{\"a\":4600001}", 0, -1},
        {"{\"from\":\"/a\",\"default\":\"1h\"}", "{}", 0, NOW + HOUR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *mem = talloc_new(*state);
        struct declaration *declaration = parse(
            mem,
            talloc_asprintf(mem, "{\"name\":\"r\",\"prefix\":[],\"ttl\":%s}",
                            rows[i].ttl));
        struct record record = {.encoding = KX_JSON,
                                .value = kx_text(rows[i].value),
                                .expires_at_ms = rows[i].said_ms};
        struct rule_work work;
        struct kx_violation violation;
        rule_work_init(&work, mem);
        enum kx_status status =
            rule_expiry(declaration->rule, &record, NOW, &work, &violation);
        bool refused = rows[i].expires_at_ms < 0;
        if (status != (refused ? KX_RULE_VIOLATED : KX_OK) ||
            (!refused && record.expires_at_ms != rows[i].expires_at_ms))
            fail_msg("row %zu: %s, %lld", i, kx_status_name(status),
                     (long long)record.expires_at_ms);
        talloc_free(mem);
    }
}
