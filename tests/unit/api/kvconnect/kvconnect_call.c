#include "kvconnect_call.h"

#include <strings.h>

#include "http/router.h"
#include "server/routes.h"

const char *call_headers[3];

static const char *header(const struct request *request, const char *name)
{
    static const char *const names[] = {"x-denokv-database-id",
                                        "x-denokv-version", "Host"};
    (void)request;
    for (size_t i = 0; i < 3; i++)
        if (strcasecmp(name, names[i]) == 0)
            return call_headers[i];
    return NULL;
}

struct request request_to(struct story *story, const char *path,
                          struct kx_slice body)
{
    static struct service service;
    service.store = story->test.store;
    service.routes = &ROUTES;
    struct request request = {.service = &service,
                              .reader = story->test.reader,
                              .method = METHOD_POST,
                              .path = kx_text(path),
                              .header = header,
                              .body = body,
                              .memory = story->mem,
                              .commit = {.memory = story->mem}};
    route_find(&request);
    assert_non_null(request.route);
    return request;
}

struct answer post(struct story *story, const char *path, struct kx_slice body)
{
    struct request request = request_to(story, path, body);
    struct reply reply = {.status = 0};
    kx_buffer_init(&reply.body, story->mem);
    enum progress progress = request.route->handle(&request, &reply);
    while (progress == VIEW) /* a step of a job is being applied */
        progress = request.route->handle(&request, &reply);
    kx_read_release(request.reader);
    if (progress == COMMIT) {
        test_commit(&story->test, &request.commit);
        assert_int_equal(request.route->finish(&request, &reply), DONE);
    }
    assert_false(reply.body.failed);
    return (struct answer){reply.status, reply.content_type,
                           kx_buffer_slice(&reply.body)};
}

const char *text_of(struct story *story, struct answer answer)
{
    return talloc_strndup(story->mem, (const char *)answer.body.data,
                          answer.body.size);
}

struct kx_slice bytes_of(void *mem, const char *hex)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, mem);
    assert_true(kx_hex_read(kx_text(hex), &bytes));
    return kx_buffer_slice(&bytes);
}

const char *compact(void *mem, const char *spaced)
{
    char *text = talloc_strdup(mem, spaced);
    char *to = text;
    for (const char *from = spaced; *from != '\0'; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    return text;
}
