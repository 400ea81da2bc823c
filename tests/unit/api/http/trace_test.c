/* Identifiers and traces that clients send: what is well formed, and nothing
 * else, gets into logs and replies. */
#include "http/trace.h"
#include "http/service.h"
#include "unit.h"

#include <strings.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

struct headers {
    const char *id;
    const char *parent;
    const char *prefer;
};

static const char *header(const struct request *request, const char *name)
{
    const struct headers *headers = request->connection;
    if (strcasecmp(name, "X-Request-Id") == 0)
        return headers->id;
    if (strcasecmp(name, "traceparent") == 0)
        return headers->parent;
    return strcasecmp(name, "Prefer") == 0 ? headers->prefer : NULL;
}

static struct request read_headers(struct headers *headers)
{
    static struct service service;
    struct request request = {
        .service = &service, .header = header, .connection = headers};
    trace_read(&request);
    return request;
}

TEST(request_id_accepts_only_short_plain_text)
{
    static const char *const bad[] = {"",         "a b", "a\"", "a=b", "a\nb",
                                      "\xc3\xa4", "a/b", "a,b", " a"};
    char text[TRACE_REQUEST_ID_MAX + 2];
    assert_true(trace_is_request_id("a"));
    assert_true(trace_is_request_id("0A-z_.9"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(trace_is_request_id(bad[i]));
    memset(text, 'x', sizeof text);
    text[TRACE_REQUEST_ID_MAX + 1] = '\0';
    assert_false(trace_is_request_id(text));
    text[TRACE_REQUEST_ID_MAX] = '\0';
    assert_true(trace_is_request_id(text));
}

TEST(traceparent_is_parsed_by_the_standard)
{
    struct trace trace = {.named = false};
    bool sampled = false;
    assert_true(trace_parse("00-" TRACE "-" SPAN "-01", &trace, &sampled));
    assert_string_equal(trace.trace_id, TRACE);
    assert_string_equal(trace.parent, SPAN);
    assert_true(sampled);
    assert_true(trace_parse("00-" TRACE "-" SPAN "-02", &trace, &sampled));
    assert_false(sampled);
    assert_true(trace_parse("00-" TRACE "-" SPAN "-ff", &trace, &sampled));
    assert_true(sampled);
}

TEST(traceparent_of_later_version_may_be_longer)
{
    struct trace trace;
    bool sampled;
    assert_true(trace_parse("01-" TRACE "-" SPAN "-00", &trace, &sampled));
    assert_true(trace_parse("cc-" TRACE "-" SPAN "-01-what", &trace, &sampled));
    assert_false(trace_parse("cc-" TRACE "-" SPAN "-01what", &trace, &sampled));
    assert_false(
        trace_parse("00-" TRACE "-" SPAN "-01-what", &trace, &sampled));
}

TEST(malformed_traceparent_leaves_trace_unchanged)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-0x",
        "00-" TRACE "-" SPAN "-01 ",
        "ff-" TRACE "-" SPAN "-01",
        "0-" TRACE "-" SPAN "-01-0",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "-01, 00-" TRACE "-" SPAN "-01",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trace trace = {.trace_id = "x"};
        bool sampled = false;
        assert_false(trace_parse(bad[i], &trace, &sampled));
        assert_string_equal(trace.trace_id, "x");
    }
}

TEST(request_id_comes_from_client)
{
    struct headers both = {"mine", "00-" TRACE "-" SPAN "-00", NULL};
    struct headers trace = {"not mine!", "00-" TRACE "-" SPAN "-01", NULL};
    struct request request = read_headers(&both);
    assert_string_equal(trace_request_id(&request), "mine");
    assert_string_equal(request.trace.trace_id, TRACE);
    assert_true(request.trace.named);
    assert_false(request.trace.timing);
    request = read_headers(&trace);
    assert_string_equal(trace_request_id(&request), TRACE);
    assert_true(request.trace.timing);
}

TEST(request_id_is_made_when_client_sends_none)
{
    struct headers none = {NULL, "nothing", "server-timing"};
    char first[TRACE_REQUEST_ID_MAX + 1];
    struct request request = read_headers(&none);
    assert_false(request.trace.named);
    assert_true(request.trace.timing);
    strcpy(first, trace_request_id(&request));
    assert_true(trace_is_request_id(first));
    assert_string_equal(trace_request_id(&request), first);
    request = read_headers(&none);
    assert_string_not_equal(trace_request_id(&request), first);
}
