/* The gates in front of the handlers: target, route, origin, body size. */
#include "exchange/admission.h"
#include "http/problem.h"
#include "http/service.h"
#include "server/routes.h"
#include "unit.h"

#include <strings.h>
#include <unistd.h>

struct headers {
    const char *origin;
    const char *host;
};

static const char *header(const struct request *request, const char *name)
{
    const struct headers *headers = request->connection;
    if (strcasecmp(name, "Origin") == 0)
        return headers->origin;
    return strcasecmp(name, "Host") == 0 ? headers->host : NULL;
}

static const struct options OPTIONS = {
    .value_max = 100, .body_max = 1000, .host_names = "h"};
static struct service SERVICE = {.options = &OPTIONS, .routes = &ROUTES};

struct story {
    struct request request;
    struct reply reply;
    struct headers headers;
};

/* Asks for admission of a request and returns the reply's status, or 0. */
static int ask(struct story *story, enum method method, const char *target,
               uint64_t body_size)
{
    story->request.service = &SERVICE;
    story->request.method = method;
    story->request.header = header;
    story->request.connection = &story->headers;
    admission_split(&story->request, kx_text(target));
    bool admitted = admission_check(&story->request, &story->reply, body_size);
    return admitted ? 0 : story->reply.status;
}

static struct story begin(void *memory)
{
    struct story story = {.request = {.memory = memory}};
    kx_buffer_init(&story.reply.body, memory);
    return story;
}

static void end(struct story *story)
{
    kx_buffer_free(&story->reply.body);
    talloc_free_children(story->request.memory);
}

TEST(admission_splits_target_into_path_and_query)
{
    static const char *const cases[][3] = {
        {"/kv/a", "/kv/a", ""},
        {"/kv/a?", "/kv/a", ""},
        {"/kv/a?x=1?y", "/kv/a", "x=1?y"},
        {"/kv/%3f%00?a=%00", "/kv/%3f%00", "a=%00"},
        {"*", "*", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct request request = {0};
        admission_split(&request, kx_text(cases[i][0]));
        assert_true(kx_equal(request.path, kx_text(cases[i][1])));
        assert_true(kx_equal(request.query, kx_text(cases[i][2])));
    }
}

TEST(admission_answers_request_without_route)
{
    static const struct {
        enum method method;
        const char *target;
        int status;
    } cases[] = {
        {METHOD_GET, "/kv/a", 0},      {METHOD_HEAD, "/kv/a", 0},
        {METHOD_GET, "/nowhere", 404}, {METHOD_OPTIONS, "/nowhere", 404},
        {METHOD_POST, "/count", 405},  {METHOD_OTHER, "/list", 405},
        {METHOD_OPTIONS, "/kv", 204},  {METHOD_OPTIONS, "*", 204},
        {METHOD_GET, "*", 404},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story = begin(*state);
        assert_int_equal(ask(&story, cases[i].method, cases[i].target, 0),
                         cases[i].status);
        if (story.reply.status == 204 || story.reply.status == 405)
            assert_string_equal(story.reply.headers[0].name, "Allow");
        end(&story);
    }
}

TEST(admission_lets_pages_of_other_sites_only_read)
{
    static const struct {
        enum method method;
        const char *origin, *host;
        bool admitted;
    } cases[] = {
        {METHOD_PUT, NULL, "h:1", true},
        {METHOD_PUT, "http://h:1", "h:1", true},
        {METHOD_PUT, "http://H:1", "h:1", true},
        {METHOD_PUT, "http://h", "h", true},
        {METHOD_PUT, "http://h", "h:80", true},
        {METHOD_PUT, "https://h", "h:443", true},
        {METHOD_PUT, "http://h", "h:443", false},
        {METHOD_PUT, "http://h:2", "h:1", false},
        {METHOD_PUT, "http://h", "h:1", false},
        {METHOD_PUT, "http://h:11", "h:1", false},
        {METHOD_PUT, "http://h:1", "h:11", false},
        {METHOD_PUT, "http://evil", "h:1", false},
        {METHOD_PUT, "null", "h:1", false},
        {METHOD_PUT, "", "h:1", false},
        {METHOD_PUT, "http://h:1", NULL, false},
        {METHOD_DELETE, "http://evil", "h:1", false},
        {METHOD_GET, "http://evil", "h:1", true},
        {METHOD_HEAD, "http://evil", "h:1", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story = begin(*state);
        story.headers = (struct headers){cases[i].origin, cases[i].host};
        assert_int_equal(ask(&story, cases[i].method, "/kv/a", 0),
                         cases[i].admitted ? 0 : 403);
        end(&story);
    }
}

TEST(admission_limits_body_of_each_route)
{
    static const struct {
        enum method method;
        const char *target;
        uint64_t size;
        bool admitted;
    } cases[] = {
        {METHOD_PUT, "/kv/a", 100, true},
        {METHOD_PUT, "/kv/a", 101, false},
        {METHOD_POST, "/atomic", 1000, true},
        {METHOD_POST, "/atomic", 1001, false},
        {METHOD_GET, "/kv/a", 0, true},
        {METHOD_GET, "/kv/a", 1, false},
        {METHOD_DELETE, "/list", 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story = begin(*state);
        assert_int_equal(
            ask(&story, cases[i].method, cases[i].target, cases[i].size),
            cases[i].admitted ? 0 : 413);
        end(&story);
    }
}

/* Whether there are tokens is known to the store. */
static char DIRECTORY[] = "/tmp/kindex-test-XXXXXX";

static int open_store(void **state)
{
    struct kx_options options;
    kx_options_default(&options);
    assert_non_null(mkdtemp(DIRECTORY));
    options.directory = DIRECTORY;
    options.cache_bytes = 16 << 20;
    options.disk_floor = 0;
    assert_int_equal(kx_open(&options, &SERVICE.store, NULL), KX_OK);
    return memory_open(state);
}

static int remove_store(void **state)
{
    char command[64];
    kx_close(SERVICE.store);
    snprintf(command, sizeof command, "rm -r %s", DIRECTORY);
    assert_int_equal(system(command), 0);
    return memory_close(state);
}

TESTS_SHARE(open_store, remove_store)
