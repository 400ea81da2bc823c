/* If-Match is compared strongly, If-None-Match weakly. A value is `*` or a list
 * of tags; `*` requires an entry in If-Match, and no entry in If-None-Match.
 * The digest of Idempotency-Key covers what decides the outcome of a write:
 * method, address, the headers below, and the body. */
#include "rest/conditions.h"

#include <talloc.h>

#include "http/router.h"
#include "http/service.h"

/* Skips to the next tag of a list, which may have empty elements (RFC 9110
 * section 5.6.1.2). */
static const char *skip(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == ',')
        text++;
    return text;
}

/* Returns the versionstamp that the tag begins with, or 0. The rest is ignored,
 * since proxies append "-gzip" and the like to tags of compressed replies. */
static uint64_t stamp_of(const char *text, size_t size)
{
    uint64_t stamp = 0;
    if (size >= KX_STAMP_DIGITS &&
        kx_stamp_parse(kx_slice(text, KX_STAMP_DIGITS), &stamp))
        return stamp;
    return 0;
}

/* Sets the versionstamp of one tag, unless the tag is weak and the comparison
 * is strong (RFC 9110 section 13.1.1). Returns the text after the tag. Text
 * that is not a tag is skipped to the next comma, so that the list always gets
 * shorter. A quoted asterisk is formally a tag, but is hardly meant as one. */
static const char *read_tag(const char *text, bool strong, uint64_t *stamp_out,
                            bool *unclear)
{
    bool weak = text[0] == 'W' && text[1] == '/';
    if (weak)
        text += 2;
    size_t size = *text == '"' ? strcspn(text + 1, "\"") : 0;
    if (*text != '"' || text[1 + size] == '\0' || (size == 1 && text[1] == '*'))
        *unclear = true;
    if (*text != '"')
        return text + strcspn(text, ",");
    text++;
    if (!weak || !strong)
        *stamp_out = stamp_of(text, size);
    text += size;
    return *text == '"' ? text + 1 : text;
}

/* True if the whole value is `*` (RFC 9110 section 13.1.1). In a list `*` is
 * not a tag. */
static bool is_any(const char *text)
{
    return *text == '*' && text[1 + strspn(text + 1, " \t")] == '\0';
}

/* Reads a list of tags. Returns true if the value is `*` instead. */
static bool read_list(const char *text, bool strong, uint64_t *stamps,
                      struct kx_check *check, bool *unclear)
{
    check->stamps = stamps;
    check->stamp_count = 0;
    text = skip(text);
    *unclear = *text == '\0';
    if (is_any(text))
        return true;
    for (; *text != '\0'; text = skip(text)) {
        uint64_t stamp = 0;
        text = read_tag(text, strong, &stamp, unclear);
        if (stamp != 0)
            stamps[check->stamp_count++] = stamp;
    }
    return false;
}

/* Allocates an array for all tags of a list; each but the last is followed by a
 * comma or quote. */
static uint64_t *room(const char *text, const void *memory)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == ',' || *text == '"';
    return talloc_array(memory, uint64_t, count);
}

static bool add(struct conditions *conditions, const char *text,
                struct kx_slice key, bool wanted)
{
    struct kx_check *check = &conditions->checks[conditions->count];
    uint64_t *stamps = room(text, conditions->checks);
    if (stamps == NULL)
        return false;
    bool unclear = false;
    bool any = read_list(text, wanted, stamps, check, &unclear);
    conditions->unclear = unclear && !wanted;
    check->key = key;
    if (any)
        check->condition = wanted ? KX_IS_PRESENT : KX_IS_ABSENT;
    else
        check->condition = wanted ? KX_IS_ONE_OF : KX_IS_NONE_OF;
    conditions->count++;
    return true;
}

bool conditions_read(const char *if_match, const char *if_none_match,
                     struct kx_slice key, const void *memory,
                     struct conditions *conditions_out)
{
    *conditions_out = (struct conditions){0};
    if (if_match == NULL && if_none_match == NULL)
        return true;
    conditions_out->checks = talloc_zero_array(memory, struct kx_check, 2);
    if (conditions_out->checks == NULL)
        return false;
    return (if_match == NULL || add(conditions_out, if_match, key, true)) &&
           (if_none_match == NULL ||
            add(conditions_out, if_none_match, key, false));
}

bool conditions_none(const struct request *request, struct input_error *error)
{
    static const char *const names[] = {"If-Match", "If-None-Match"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (request_header(request, names[i]) != NULL)
            return input_error_set(
                error, PROBLEM_BAD_REQUEST,
                "%s is not supported here: there is no single entry to compare "
                "with. POST /atomic takes checks.",
                names[i]);
    return true;
}

void etag_write(uint64_t stamp, char *out)
{
    out[0] = '"';
    kx_stamp_text(stamp, out + 1);
    out[ETAG_SIZE - 1] = '"';
    out[ETAG_SIZE] = '\0';
}

/* ---- Idempotency-Key ---------------------------------------------------- */

_Static_assert(KX_TOKEN_ID_SIZE + 1 + IDEMPOTENCY_KEY_MAX <=
                   KX_IDEMPOTENCY_KEY_MAX,
               "a key fits with the id of the access token");

static const char *const HEADERS[] = {"Content-Type", "If-Match",
                                      "If-None-Match", "Prefer"};
enum { HEADER_COUNT = sizeof HEADERS / sizeof *HEADERS };

/* Returns the text with its NUL, which separates it from the next part. */
static struct kx_slice ended(const char *text)
{
    return kx_slice(text, strlen(text) + 1);
}

/* Path and query have no line breaks, so a line break ends them. */
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

/* Reads a string of a structured field (RFC 8941). */
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

/* Reads a key without quotes, as many clients send it. */
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

/* Appends the key. Returns false if the header has none; out->failed if memory
 * ran out. */
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

/* Puts the id of the access token before the key, so that a token never gets
 * the outcome of another one. */
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
            "A dry run writes nothing and can be repeated safely: leave out "
            "Idempotency-Key.");
    struct kx_idempotency *idempotency =
        talloc_zero(request->memory, struct kx_idempotency);
    if (idempotency == NULL)
        return input_error_no_memory(error);
    if (!read_key(request, text, &idempotency->key, error))
        return false;
    digest_request(request, idempotency->digest);
    idempotency->until_ms =
        kx_now_ms() + (int64_t)request->service->options->idempotency_ttl_ms;
    request->commit.idempotency = idempotency;
    return true;
}
