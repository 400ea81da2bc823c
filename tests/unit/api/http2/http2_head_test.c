/* Which requests of HTTP/2 are malformed. */
#include "http2/http2_head.h"
#include "unit.h"

/* Takes fields "name: value" in turn; returns the first verdict that is not
 * HTTP2_FIELD_VALID. */
static enum http2_field take(struct http2_message *message,
                             const char *const *fields)
{
    for (; *fields != NULL; fields++) {
        const char *colon = strchr(*fields + 1, ':');
        enum http2_field verdict = http2_message_field(
            message, kx_slice(*fields, (size_t)(colon - *fields)),
            kx_text(colon + 1));
        if (verdict != HTTP2_FIELD_VALID)
            return verdict;
    }
    return HTTP2_FIELD_VALID;
}

#define HEAD(...)                                                              \
    (const char *const[])                                                      \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }
#define GET ":method:GET", ":scheme:http", ":path:/a", ":authority:h"

static void expect_head(const char *const *fields, bool valid)
{
    struct http2_message message = {.seen = 0};
    bool found = take(&message, fields) == HTTP2_FIELD_VALID &&
                 http2_message_head(&message);
    if (found != valid)
        fail_msg("%s ... is %s", fields[0], found ? "valid" : "malformed");
}

TEST(head_must_have_its_pseudo_fields)
{
    expect_head(HEAD(GET), true);
    expect_head(HEAD(":path:/", ":method:GET", ":scheme:https"), true);
    expect_head(HEAD(":method:GET", ":scheme:http", ":path:/", "host:h"), true);
    expect_head(HEAD(":method:OPTIONS", ":scheme:http", ":path:*"), true);
    expect_head(HEAD(":method:CONNECT", ":authority:h:80"), true);
    expect_head(HEAD(":method:GET", ":scheme:http", ":path:*"), false);
    expect_head(HEAD(":method:GET", ":scheme:http"), false);
    expect_head(HEAD(":method:GET", ":path:/"), false);
    expect_head(HEAD(":scheme:http", ":path:/"), false);
    expect_head(HEAD(":method:CONNECT", ":path:/"), false);
    expect_head(HEAD(":method:CONNECT", ":scheme:http"), false);
    expect_head(HEAD("a:b"), false);
}

static void expect_field(const char *field, enum http2_field expected)
{
    struct http2_message message = {.seen = 0};
    assert_int_equal(take(&message, HEAD(GET)), HTTP2_FIELD_VALID);
    enum http2_field verdict = take(&message, HEAD(field));
    if (verdict != expected)
        fail_msg("%s: %d, not %d", field, (int)verdict, (int)expected);
}

TEST(unknown_or_repeated_pseudo_field_is_malformed)
{
    struct http2_message message = {.seen = 0};
    expect_field(":path:/b", HTTP2_FIELD_MALFORMED);
    expect_field(":method:GET", HTTP2_FIELD_MALFORMED);
    expect_field(":scheme:http", HTTP2_FIELD_MALFORMED);
    expect_field(":authority:h", HTTP2_FIELD_MALFORMED);
    expect_field(":status:200", HTTP2_FIELD_MALFORMED);
    expect_field(":protocol:websocket", HTTP2_FIELD_MALFORMED);
    expect_field("::a", HTTP2_FIELD_MALFORMED);
    assert_int_equal(take(&message, HEAD(":method:GET", "a:b", ":path:/")),
                     HTTP2_FIELD_MALFORMED);
}

TEST(invalid_value_of_pseudo_field_is_malformed)
{
    static const char *const BAD[] = {
        ":method:",         ":method:G T", ":scheme:",        ":scheme:a b",
        ":path:",           ":path:a",     ":path:http://h/", ":path:*a",
        ":path:/a b",       ":path:/\n",   ":authority:a b",  ":authority:a/b",
        ":authority:a\r\nb"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct http2_message message = {.seen = 0};
        if (take(&message, HEAD(BAD[i])) != HTTP2_FIELD_MALFORMED)
            fail_msg("%s", BAD[i]);
    }
    struct http2_message message = {.seen = 0};
    assert_int_equal(take(&message, HEAD(":authority:")), HTTP2_FIELD_VALID);
}

TEST(connection_fields_are_malformed)
{
    expect_field("connection:close", HTTP2_FIELD_MALFORMED);
    expect_field("keep-alive:5", HTTP2_FIELD_MALFORMED);
    expect_field("proxy-connection:close", HTTP2_FIELD_MALFORMED);
    expect_field("transfer-encoding:chunked", HTTP2_FIELD_MALFORMED);
    expect_field("upgrade:h2c", HTTP2_FIELD_MALFORMED);
    expect_field("te:gzip", HTTP2_FIELD_MALFORMED);
    expect_field("te:", HTTP2_FIELD_MALFORMED);
    expect_field("te:trailers", HTTP2_FIELD_VALID);
    expect_field("te:Trailers", HTTP2_FIELD_VALID);
    expect_field("ta:gzip", HTTP2_FIELD_VALID);
    expect_field("upgrades:h2c", HTTP2_FIELD_VALID);
}

TEST(uppercase_field_name_is_malformed)
{
    expect_field("Accept:*/*", HTTP2_FIELD_MALFORMED);
    expect_field("a B:c", HTTP2_FIELD_MALFORMED);
    expect_field("accept:*/*", HTTP2_FIELD_VALID);
}

TEST(invalid_character_in_regular_field_is_answered)
{
    struct http2_message message = {.seen = 0};
    expect_field("a b:c", HTTP2_FIELD_BAD_TEXT);
    expect_field("a:b\nc", HTTP2_FIELD_BAD_TEXT);
    expect_field("a: b", HTTP2_FIELD_BAD_TEXT);
    expect_field("a:b\t", HTTP2_FIELD_BAD_TEXT);
    expect_field("a:b\tc", HTTP2_FIELD_VALID);
    expect_field("a:", HTTP2_FIELD_VALID);
    assert_int_equal(
        http2_message_field(&message, kx_text("a"), kx_slice("b\0c", 3)),
        HTTP2_FIELD_BAD_TEXT);
    assert_int_equal(
        http2_message_field(&message, kx_slice("", 0), kx_text("b")),
        HTTP2_FIELD_BAD_TEXT);
}

TEST(repeated_host_is_malformed)
{
    struct http2_message message = {.seen = 0};
    assert_int_equal(take(&message, HEAD("host:h", "host:h")),
                     HTTP2_FIELD_MALFORMED);
}

TEST(pseudo_field_in_trailers_is_malformed)
{
    struct http2_message message = {.seen = 0};
    assert_int_equal(take(&message, HEAD(GET)), HTTP2_FIELD_VALID);
    assert_true(http2_message_head(&message));
    assert_int_equal(take(&message, HEAD("x-sum:1")), HTTP2_FIELD_VALID);
    assert_int_equal(take(&message, HEAD(":status:200")),
                     HTTP2_FIELD_MALFORMED);
}

TEST(content_length_must_be_one_number)
{
    expect_field("content-length:0", HTTP2_FIELD_VALID);
    expect_field("content-length:9223372036854775807", HTTP2_FIELD_VALID);
    expect_field("content-length:9223372036854775808", HTTP2_FIELD_MALFORMED);
    expect_field("content-length:99999999999999999999", HTTP2_FIELD_MALFORMED);
    expect_field("content-length:", HTTP2_FIELD_MALFORMED);
    expect_field("content-length:+1", HTTP2_FIELD_MALFORMED);
    expect_field("content-length:1,1", HTTP2_FIELD_MALFORMED);
    struct http2_message message = {.seen = 0};
    assert_int_equal(
        take(&message, HEAD("content-length:1", "content-length:1")),
        HTTP2_FIELD_MALFORMED);
}

TEST(body_must_match_content_length)
{
    struct http2_message message = {.seen = 0};
    assert_true(http2_message_body(&message, 5)); /* none is announced */
    assert_true(http2_message_end(&message));
    message = (struct http2_message){.seen = 0};
    take(&message, HEAD("content-length:3"));
    assert_int_equal(message.length, 3);
    assert_false(http2_message_end(&message));
    assert_true(http2_message_body(&message, 2));
    assert_false(http2_message_end(&message));
    assert_true(http2_message_body(&message, 1));
    assert_true(http2_message_end(&message));
    assert_false(http2_message_body(&message, 1));
    message = (struct http2_message){.seen = 0};
    take(&message, HEAD("content-length:0"));
    assert_true(http2_message_end(&message));
    assert_false(http2_message_body(&message, 1));
}
