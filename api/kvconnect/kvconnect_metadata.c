/* The metadata exchange: a client that opens the store learns which version is
 * spoken, which database this is and where its data path lies. @deno/kv refuses
 * an answer with other members than these, a media type with parameters, or a
 * time that does not end in Z. */
#include "kvconnect/kvconnect_handlers.h"

#include <time.h>

#include "access/access.h"
#include "rest/answer.h"
#include "kvconnect/kvconnect.h"
#include "http/service.h"

/* Long, whatever the end of the token: Deno asks again without a pause once it
 * is less than ten seconds away, by a clock that may be wrong. A token that has
 * ended is refused all the same. */
enum { GOOD_FOR_SECONDS = 10 * 365 * 24 * 3600 };

static const char UNSPOKEN[] =
    "The metadata exchange of KV Connect takes "
    "{\"supportedVersions\":[...]} with 1, 2 or 3 among the versions.";

/* A request for another part of the service, with a wrong address. */
static bool is_stray(const struct request *request)
{
    return !kx_equal(request->path, kx_text("/"));
}

/* The highest version that both speak; 0: none. */
static int common_version(struct kx_slice versions)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice element;
    double number;
    int best = 0;
    if (!kx_json_iterate(versions, &iter) || iter.object)
        return 0;
    while (kx_json_next(&iter, &name, &element))
        for (int version = KVCONNECT_FIRST; version <= KVCONNECT_LAST;
             version++)
            if (kx_number_parse(element, &number) && number == version &&
                version > best)
                best = version;
    return best;
}

/* A client from before there were versions sends no body. */
static bool negotiate(const struct request *request, int *version_out,
                      struct input_error *error)
{
    struct kx_slice body = request->body;
    struct kx_slice versions;
    struct kx_fault fault = {0};
    *version_out = KVCONNECT_FIRST;
    if (body.size == 0 && !is_stray(request))
        return true;
    if (kx_json_check(body, &fault) != KX_OK)
        return input_error_json(error, body, &fault);
    if (kx_json_find(body, kx_text("/supportedVersions"), &versions))
        *version_out = common_version(versions);
    else
        *version_out = 0;
    return *version_out != 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST, "%s", UNSPOKEN);
}

/* Relative, so that it is right by whatever name and scheme the client came;
 * version 1 needs an absolute one. */
static void add_endpoint(const struct request *request, int version,
                         struct kx_buffer *out)
{
    const char *host = request_header(request, "Host");
    struct kx_buffer url;
    kx_buffer_init(&url, request->memory);
    if (version == 1 && host != NULL) {
        kx_add_text(&url,
                    request->service->keyring != NULL ? "https://" : "http://");
        kx_add_text(&url, host);
    }
    kx_add_text(&url, "/v2");
    kx_json_escape(kx_buffer_slice(&url), out);
    out->failed |= url.failed;
}

/* The token for the data path is the one that the client has; it must not be
 * empty. */
static void add_token(const struct request *request, struct kx_buffer *out)
{
    const char *given = access_bearer(request);
    bool good =
        given != NULL && *given != '\0' && kx_utf8_valid(kx_text(given));
    kx_json_escape(kx_text(good ? given : "none"), out);
}

static void add_expiry(struct kx_buffer *out)
{
    char text[32];
    struct tm tm;
    time_t at = (time_t)(kx_now_ms() / 1000) + GOOD_FOR_SECONDS;
    gmtime_r(&at, &tm);
    kx_add(out, text, strftime(text, sizeof text, "\"%Y-%m-%dT%TZ\"", &tm));
}

static void answer_nowhere(struct request *request, struct reply *reply)
{
    size_t size = request->path.size;
    request->route = NULL;
    problem(request, reply, PROBLEM_NOT_FOUND, "There is nothing at %.*s.",
            size < 300 ? (int)size : 300, (const char *)request->path.data);
}

void kvconnect_metadata(struct request *request, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    struct input_error error;
    int version;
    if (!negotiate(request, &version, &error)) {
        if (is_stray(request))
            answer_nowhere(request, reply);
        else
            input_error_reply(request, reply, &error);
        return;
    }
    answer_json(reply, 200);
    kx_add_text(out, "{\"version\":");
    kx_add_byte(out, (uint8_t)('0' + version));
    kx_add_text(out, ",\"databaseId\":\"");
    kx_add_text(out, kx_store_id(request->service->store));
    kx_add_text(out, "\",\"endpoints\":[{\"url\":");
    add_endpoint(request, version, out);
    kx_add_text(out, ",\"consistency\":\"strong\"}],\"token\":");
    add_token(request, out);
    kx_add_text(out, ",\"expiresAt\":");
    add_expiry(out);
    kx_add_byte(out, '}');
}
