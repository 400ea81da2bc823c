/* Only the media type decides how a body is read, never its content. A body
 * without a meaningful type is read as JSON; if it is not JSON, the error says
 * that this was assumed. */
#include "rest/body.h"

#include <stdio.h>
#include <strings.h>

#include "http/router.h"
#include "rest/entryjson.h"

/* GUESSED: the client gave no meaningful type, so JSON is assumed. */
enum media {
    MEDIA_JSON,
    MEDIA_GUESSED,
    MEDIA_TYPED,
    MEDIA_PATCH,
    MEDIA_JSON_PATCH,
    MEDIA_OTHER
};

static const struct media_row {
    const char *name;
    enum media media;
} MEDIA[] = {
    {"application/json", MEDIA_JSON},
    /* The default of curl -d. */
    {"application/x-www-form-urlencoded", MEDIA_GUESSED},
    {"application/vnd.kindex.typed+json", MEDIA_TYPED},
    {"application/merge-patch+json", MEDIA_PATCH},
    {"application/json-patch+json", MEDIA_JSON_PATCH},
};

/* Parameters such as charset are ignored: JSON is UTF-8 by RFC 8259, and for
 * bytes the whole text of the header is stored. */
static bool has_type(const char *content_type, const char *name)
{
    size_t size = strcspn(content_type, "; \t");
    return strlen(name) == size && strncasecmp(content_type, name, size) == 0;
}

static enum media media_of(const char *content_type)
{
    if (content_type == NULL || *content_type == '\0')
        return MEDIA_GUESSED;
    for (size_t i = 0; i < sizeof MEDIA / sizeof *MEDIA; i++)
        if (has_type(content_type, MEDIA[i].name))
            return MEDIA[i].media;
    return MEDIA_OTHER;
}

static bool bad_json(const struct request *request,
                     const struct kx_fault *fault, struct input_error *error)
{
    input_error_json(error, request->body, fault);
    if (request->body.size == 0)
        snprintf(error->detail, sizeof error->detail,
                 "The body is empty; a JSON text is expected.");
    return false;
}

static bool check_json(const struct request *request, struct input_error *error)
{
    struct kx_fault fault = {0};
    return kx_json_check(request->body, &fault) == KX_OK ||
           bad_json(request, &fault, error);
}

/* True if the text has the form of a media type; a single word such as "json"
 * has not. */
static bool is_media_type(const char *text)
{
    size_t size = strcspn(text, "/; \t");
    return size > 0 && text[size] == '/' &&
           strcspn(text + size + 1, "; \t") > 0;
}

/* Takes the body as bytes. The media type is stored and later sent as a header,
 * so it must not contain line breaks. */
static bool take_bytes(const struct request *request, const char *content_type,
                       struct kx_value *value_out, struct input_error *error)
{
    struct kx_slice media_type = kx_text(content_type);
    if (media_type.size > KX_MEDIA_TYPE_MAX)
        return input_error_set(
            error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
            "The Content-Type has %zu bytes; the limit is %d.", media_type.size,
            KX_MEDIA_TYPE_MAX);
    if (content_type[strcspn(content_type, ",\"")] == ',')
        return input_error_set(error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                               "The body has several media types: %s; send one "
                               "Content-Type.",
                               content_type);
    if (!is_media_type(content_type))
        return input_error_set(error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                               "The Content-Type \"%s\" is not a media type "
                               "such as application/json or text/plain.",
                               content_type);
    for (size_t i = 0; i < media_type.size; i++)
        if (media_type.data[i] < 0x20 || media_type.data[i] > 0x7e)
            return input_error_set(
                error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                "The Content-Type has a character that is not "
                "printable ASCII.");
    *value_out = (struct kx_value){
        .encoding = KX_BYTES, .data = request->body, .media_type = media_type};
    return true;
}

/* Refuses Content-Range: a part must not be stored as the whole (RFC 9110
 * section 14.5). */
static bool check_whole(const struct request *request,
                        struct input_error *error)
{
    const char *range = request_header(request, "Content-Range");
    return range == NULL ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The body has the Content-Range %s; send the whole "
                           "value, without Content-Range.",
                           range);
}

static bool take_json(const struct request *request, struct kx_value *value_out,
                      struct input_error *error)
{
    if (!check_json(request, error))
        return false;
    *value_out = (struct kx_value){.encoding = KX_JSON, .data = request->body};
    return true;
}

/* Takes a value whose type is only assumed to be JSON. */
static bool take_guessed(const struct request *request,
                         struct kx_value *value_out, struct input_error *error)
{
    if (take_json(request, value_out, error))
        return true;
    size_t used = strlen(error->detail);
    snprintf(error->detail + used, sizeof error->detail - used,
             " (A body without a Content-Type is read as JSON; set one, such "
             "as text/plain, to store bytes.)");
    return false;
}

bool body_value(const struct request *request, struct kx_value *value_out,
                struct input_error *error)
{
    const char *content_type = request_header(request, "Content-Type");
    switch (media_of(content_type)) {
    case MEDIA_JSON:
        return take_json(request, value_out, error);
    case MEDIA_GUESSED:
        return take_guessed(request, value_out, error);
    case MEDIA_TYPED:
        return check_json(request, error) &&
               entryjson_read_typed(request->body, request->memory, value_out,
                                    error);
    case MEDIA_PATCH:
    case MEDIA_JSON_PATCH:
    case MEDIA_OTHER:
        break;
    }
    return check_whole(request, error) &&
           take_bytes(request, content_type, value_out, error);
}

static bool unsupported(struct input_error *error, const char *content_type,
                        bool merges, bool operates)
{
    struct kx_slice given = kx_text(content_type);
    input_error_set(error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                    "The body has the Content-Type %s.", content_type);
    for (size_t i = 0; i < sizeof MEDIA / sizeof *MEDIA; i++)
        if (MEDIA[i].media == MEDIA_JSON ||
            (merges && MEDIA[i].media == MEDIA_PATCH) ||
            (operates && MEDIA[i].media == MEDIA_JSON_PATCH))
            input_error_offer(error, given, MEDIA[i].name);
    return false;
}

bool body_is_json_patch(const struct request *request)
{
    return media_of(request_header(request, "Content-Type")) ==
           MEDIA_JSON_PATCH;
}

static bool take_patch(const struct request *request, bool operates,
                       struct kx_value *value_out, struct input_error *error)
{
    const char *content_type = request_header(request, "Content-Type");
    enum media media = media_of(content_type);
    if (media == MEDIA_OTHER || media == MEDIA_TYPED ||
        (media == MEDIA_JSON_PATCH && !operates))
        return unsupported(error, content_type, true, operates);
    return take_json(request, value_out, error);
}

bool body_patch(const struct request *request, struct kx_value *value_out,
                struct input_error *error)
{
    return take_patch(request, true, value_out, error);
}

bool body_merge_patch(const struct request *request, struct kx_value *value_out,
                      struct input_error *error)
{
    return take_patch(request, false, value_out, error);
}

void body_refuse_patch(struct request *request, struct reply *reply,
                       const struct input_error *error)
{
    const char *patches = route_accept_patch(request);
    input_error_reply(request, reply, error);
    if (error->code == PROBLEM_UNSUPPORTED_MEDIA_TYPE && patches != NULL)
        reply_header(reply, "Accept-Patch", patches);
}

static bool expect_json(const struct request *request,
                        struct input_error *error)
{
    const char *content_type = request_header(request, "Content-Type");
    enum media media = media_of(content_type);
    if (media != MEDIA_JSON && media != MEDIA_GUESSED)
        return unsupported(error, content_type, false, false);
    return true;
}

bool body_json(const struct request *request, struct input_error *error)
{
    return expect_json(request, error) && check_json(request, error);
}

bool body_document(const struct request *request, bool *deep_out,
                   struct input_error *error)
{
    struct kx_fault fault = {0};
    if (!expect_json(request, error))
        return false;
    enum kx_status status = kx_json_check(request->body, &fault);
    *deep_out = status == KX_JSON_TOO_DEEP;
    if (*deep_out)
        status = kx_json_check_document(request->body, &fault);
    return status == KX_OK || bad_json(request, &fault, error);
}

bool body_lines(const struct request *request, struct input_error *error)
{
    static const char NAME[] = "application/x-ndjson";
    const char *content_type = request_header(request, "Content-Type");
    if (media_of(content_type) == MEDIA_GUESSED || has_type(content_type, NAME))
        return true;
    input_error_set(error, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                    "The body has the Content-Type %s.", content_type);
    input_error_offer(error, kx_text(content_type), NAME);
    return false;
}
