/* The key of the header, and the digest of a request. The digest covers what
 * decides the outcome: method, address, the headers below, and the body. */
#include "rest/idempotency.h"

#include <talloc.h>

#include "http/router.h"
#include "http/service.h"

_Static_assert(KX_TOKEN_ID_SIZE + 1 + IDEMPOTENCY_KEY_MAX <= KX_RETRY_KEY_MAX,
               "a key fits with the id of the access token");

static const char *const HEADERS[] = {"Content-Type", "If-Match",
                                      "If-None-Match", "Prefer"};
enum { HEADER_COUNT = sizeof HEADERS / sizeof *HEADERS };

/* With its NUL, which ends it. */
static struct kx_slice ended(const char *text)
{
    return kx_slice(text, strlen(text) + 1);
}

/* No path and no query has a line break, so one ends them. */
static void digest_request(const struct request *request, uint8_t *out)
{
    struct kx_slice parts[1 + HEADER_COUNT + 5];
    size_t count = 0;
    parts[count++] = ended(method_name(request->method));
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        const char *value = request_header(request, HEADERS[i]);
        parts[count++] = ended(value != NULL ? value : "");
    }
    parts[count++] = request->path;
    parts[count++] = kx_text("?");
    parts[count++] = request->query;
    parts[count++] = kx_text("\n");
    parts[count++] = request->body;
    kx_fingerprint(parts, count, out);
}

/* A structured field (RFC 8941) has a string in quotes. Without quotes the
 * whole value is the key: many clients send it so. */
static bool add_quoted(const char *text, struct kx_buffer *out)
{
    for (text++;; text += 2) {
        size_t plain = strcspn(text, "\"\\");
        kx_add(out, text, plain);
        text += plain;
        if (*text != '\\')
            break;
        if (text[1] != '"' && text[1] != '\\')
            return false;
        kx_add_byte(out, (uint8_t)text[1]);
    }
    return text[0] == '"' && text[1] == '\0';
}

static bool add_bare(const char *text, struct kx_buffer *out)
{
    kx_add_text(out, text);
    return strpbrk(text, " \",;\\") == NULL;
}

static bool is_printable(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && bytes[i] >= 0x20 && bytes[i] <= 0x7e)
        i++;
    return i == size;
}

/* True as well when memory ran out, which out tells. */
static bool add_key(const char *text, struct kx_buffer *out)
{
    size_t before = out->size;
    bool read = *text == '"' ? add_quoted(text, out) : add_bare(text, out);
    size_t size = out->size - before;
    if (out->failed)
        return true;
    return read && size >= 1 && size <= IDEMPOTENCY_KEY_MAX &&
           is_printable(out->data + before, size);
}

/* The key with the id of the access token before it, so that no token gets the
 * outcomes of another one. */
static bool read_key(const struct request *request, const char *text,
                     struct kx_slice *key_out, struct input_error *error)
{
    const struct kx_token *token = request->caller.token;
    struct kx_buffer key;
    kx_buffer_init(&key, request->memory);
    kx_add_text(&key, token != NULL ? token->id : "");
    kx_add_byte(&key, '/');
    if (!add_key(text, &key))
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "Idempotency-Key takes one key in double quotes, of 1 to %d "
            "printable ASCII characters, such as "
            "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"; nothing was written.",
            IDEMPOTENCY_KEY_MAX);
    *key_out = kx_buffer_slice(&key);
    return !key.failed || input_error_no_memory(error);
}

bool idempotency_read(struct request *request, struct input_error *error)
{
    const char *text = request_header(request, "Idempotency-Key");
    if (text == NULL)
        return true;
    if (request->commit.dry)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "A dry run writes nothing, so it may be repeated as it is: leave "
            "Idempotency-Key out.");
    struct kx_retry *retry = talloc_zero(request->memory, struct kx_retry);
    if (retry == NULL)
        return input_error_no_memory(error);
    if (!read_key(request, text, &retry->key, error))
        return false;
    digest_request(request, retry->digest);
    retry->until_ms =
        kx_now_ms() + (int64_t)request->service->options->idempotency_ttl_ms;
    request->commit.retry = retry;
    return true;
}
