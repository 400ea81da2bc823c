/* Header fields lie one after the other in one buffer, so a look-up is linear:
 * a request has few fields, and handlers ask for fewer. */
#include "http2/http2_head.h"

#include <nghttp2/nghttp2.h>
#include <string.h>
#include <strings.h>
#include <talloc.h>

#include "http/char_class.h"

/* The characters of names and values are checked by functions of nghttp2, which
 * need no session. */

/* Bits for the fields that the head has, and for values that matter. */
enum http2_seen {
    METHOD = 1,
    SCHEME = 2,
    PATH = 4,
    AUTHORITY = 8,
    HOST = 16,
    LENGTH = 32,
    REGULAR = 64, /* any regular field */
    CONNECT = 128,
    OPTIONS = 256,
    ASTERISK = 512 /* the path is "*" */
};

static const uint64_t LENGTH_MAX = INT64_MAX;

static bool is(struct kx_slice text, const char *other, size_t size)
{
    return text.size == size && memcmp(text.data, other, size) == 0;
}

/* ---- Pseudo fields ------------------------------------------------------ */

/* The scheme is not used, but must be a token. */
static const struct {
    const char *name;
    size_t size;
    uint16_t bit;
    int (*is_valid)(const uint8_t *value, size_t size);
} PSEUDO[] = {
    {":method", 7, METHOD, nghttp2_check_method},
    {":scheme", 7, SCHEME, nghttp2_check_method},
    {":path", 5, PATH, nghttp2_check_path},
    {":authority", 10, AUTHORITY, nghttp2_check_authority},
};

static uint16_t bits_of_method(struct kx_slice value)
{
    if (is(value, "CONNECT", 7))
        return CONNECT;
    return is(value, "OPTIONS", 7) ? OPTIONS : 0;
}

/* Notes values that matter. False if the value is malformed. */
static bool note_value(struct http2_message *message, uint16_t bit,
                       struct kx_slice value)
{
    if (bit == METHOD)
        message->seen |= bits_of_method(value);
    if (bit != PATH)
        return value.size > 0 || bit == AUTHORITY;
    if (is(value, "*", 1))
        message->seen |= ASTERISK;
    return (message->seen & ASTERISK) != 0 ||
           (value.size > 0 && value.data[0] == '/');
}

static enum http2_field pseudo_field(struct http2_message *message,
                                     struct kx_slice name,
                                     struct kx_slice value)
{
    if (message->trailers || (message->seen & REGULAR) != 0)
        return HTTP2_FIELD_MALFORMED;
    for (size_t i = 0; i < sizeof PSEUDO / sizeof *PSEUDO; i++) {
        uint16_t bit = PSEUDO[i].bit;
        if (!is(name, PSEUDO[i].name, PSEUDO[i].size))
            continue;
        if ((message->seen & bit) != 0 ||
            !PSEUDO[i].is_valid(value.data, value.size) ||
            !note_value(message, bit, value))
            return HTTP2_FIELD_MALFORMED;
        message->seen |= bit;
        return HTTP2_FIELD_VALID;
    }
    return HTTP2_FIELD_MALFORMED;
}

/* ---- Regular fields ----------------------------------------------------- */

static bool take_length(struct http2_message *message, struct kx_slice value)
{
    if ((message->seen & LENGTH) != 0 || value.size == 0)
        return false;
    message->seen |= LENGTH;
    for (size_t i = 0; i < value.size; i++) {
        uint64_t digit = value.data[i] - (unsigned)'0';
        if (digit > 9 || message->length > (LENGTH_MAX - digit) / 10)
            return false;
        message->length = message->length * 10 + digit;
    }
    return true;
}

static bool http2_message_take_host(struct http2_message *message)
{
    bool first = (message->seen & HOST) == 0;
    message->seen |= HOST;
    return first;
}

/* Fields that HTTP/2 restricts or, if they are about the connection, does not
 * have (RFC 9113 section 8.2.2). */
static bool is_allowed(struct http2_message *message, struct kx_slice name,
                       struct kx_slice value)
{
    switch (name.size) {
    case 2:
        return !is(name, "te", 2) ||
               (value.size == 8 &&
                strncasecmp((const char *)value.data, "trailers", 8) == 0);
    case 4:
        return !is(name, "host", 4) || http2_message_take_host(message);
    case 7:
        return !is(name, "upgrade", 7);
    case 10:
        return !is(name, "connection", 10) && !is(name, "keep-alive", 10);
    case 14:
        return !is(name, "content-length", 14) || take_length(message, value);
    case 16:
        return !is(name, "proxy-connection", 16);
    case 17:
        return !is(name, "transfer-encoding", 17);
    default:
        return true;
    }
}

static bool has_upper_case(struct kx_slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] >= 'A' && name.data[i] <= 'Z')
            return true;
    return false;
}

enum http2_field http2_message_field(struct http2_message *message,
                                     struct kx_slice name,
                                     struct kx_slice value)
{
    if (name.size > 0 && name.data[0] == ':')
        return pseudo_field(message, name, value);
    message->seen |= REGULAR;
    if (!nghttp2_check_header_name(name.data, name.size))
        return has_upper_case(name) ? HTTP2_FIELD_MALFORMED
                                    : HTTP2_FIELD_BAD_TEXT;
    if (!nghttp2_check_header_value_rfc9113(value.data, value.size))
        return HTTP2_FIELD_BAD_TEXT;
    return is_allowed(message, name, value) ? HTTP2_FIELD_VALID
                                            : HTTP2_FIELD_MALFORMED;
}

/* ---- Messages ----------------------------------------------------------- */

bool http2_message_head(struct http2_message *message)
{
    const uint16_t needed = METHOD | SCHEME | PATH;
    uint16_t seen = message->seen;
    message->trailers = true;
    if ((seen & CONNECT) != 0)
        return (seen & (SCHEME | PATH)) == 0;
    return (seen & needed) == needed &&
           ((seen & ASTERISK) == 0 || (seen & OPTIONS) != 0);
}

bool http2_message_body(struct http2_message *message, size_t size)
{
    message->body += size;
    return (message->seen & LENGTH) == 0 || message->body <= message->length;
}

bool http2_message_end(const struct http2_message *message)
{
    return (message->seen & LENGTH) == 0 || message->body == message->length;
}

/* Precedes each name in the buffer. The limit of a head (headers_max, at most
 * 60 KiB) lets 16 bits suffice. */
struct sizes {
    uint16_t name;
    uint16_t value;
};

enum {
    LINE = 4,   /* ": " and CR LF, in HTTP/1.1 */
    USUAL = 512 /* bytes of all fields of a request */
};

size_t http2_head_size_max(const struct options *options)
{
    return options->headers_max + HTTP2_FIELD_EXTRA * options->header_count_max;
}

void http2_head_init(struct http2_head *head, const struct options *options,
                     const void *owner)
{
    *head = (struct http2_head){.options = options};
    kx_buffer_init(&head->fields, owner);
    kx_buffer_reserve(&head->fields, USUAL);
}

void http2_head_flaw(struct http2_head *head, enum problem_code why,
                     const char *flaw)
{
    if (head->flaw != NULL)
        return;
    head->flaw = flaw;
    head->why = why;
}

static void keep(struct http2_head *head, struct kx_slice name,
                 struct kx_slice value)
{
    struct sizes sizes = {(uint16_t)name.size, (uint16_t)value.size};
    kx_add(&head->fields, &sizes, sizeof sizes);
    kx_add_slice(&head->fields, name);
    kx_add_byte(&head->fields, '\0');
    kx_add_slice(&head->fields, value);
    kx_add_byte(&head->fields, '\0');
}

/* The same name in both places is one host (RFC 9113 section 8.3.1). */
static void take_host(struct http2_head *head, struct kx_slice value)
{
    if (head->has_host) {
        const char *host = http2_head_find(head, "host", NULL);
        if (host == NULL || !kx_equal(kx_text(host), value))
            http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                            "The request names more than one host (:authority "
                            "and Host).");
        return;
    }
    head->has_host = true;
    if (host_name_is_valid(value))
        keep(head, kx_text("host"), value);
    else
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The host (:authority or Host) must be a name or an "
                        "address, with or without a port.");
}

/* False if the field exceeds a limit. */
static bool fits(struct http2_head *head, struct kx_slice name,
                 struct kx_slice value, bool pseudo)
{
    size_t size = name.size + value.size + LINE;
    head->count += pseudo ? 0 : 1;
    if (size <= head->options->headers_max - head->size &&
        head->count <= head->options->header_count_max) {
        head->size += (uint32_t)size;
        return true;
    }
    http2_head_flaw(head, PROBLEM_HEADERS_TOO_LARGE,
                    "The headers have more bytes or more lines than this "
                    "server accepts.");
    return false;
}

void http2_head_add(struct http2_head *head, struct kx_slice name,
                    struct kx_slice value)
{
    bool pseudo = name.size > 0 && name.data[0] == ':';
    if (head->flaw != NULL || !fits(head, name, value, pseudo))
        return;
    if (kx_equal(name, kx_text(pseudo ? ":authority" : "host")))
        take_host(head, value);
    else if (!pseudo)
        keep(head, name, value);
}

void http2_head_end(struct http2_head *head, struct kx_slice target)
{
    if (!head->has_host)
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The request names no host (:authority or Host).");
    if (target.size > REQUEST_TARGET_MAX)
        http2_head_flaw(head, PROBLEM_URI_TOO_LONG,
                        "The request target has more bytes than this server "
                        "accepts.");
    if (target.size == 0 ||
        (target.data[0] != '/' && !kx_equal(target, kx_text("*"))))
        http2_head_flaw(head, PROBLEM_BAD_REQUEST,
                        "The request target (:path) must be a path that begins "
                        "with a slash (or *).");
}

const char *http2_head_find(const struct http2_head *head, const char *name,
                            void *memory)
{
    const char *found = NULL;
    size_t size = strlen(name);
    const uint8_t *p = head->fields.data;
    const uint8_t *end = p + head->fields.size;
    struct sizes sizes;
    for (; p < end; p += sizes.name + sizes.value + 2) {
        memcpy(&sizes, p, sizeof sizes);
        p += sizeof sizes;
        const char *value = (const char *)p + sizes.name + 1;
        if (sizes.name != size || strncasecmp((const char *)p, name, size) != 0)
            continue;
        found = found == NULL ? value
                              : talloc_asprintf(memory, "%s, %s", found, value);
    }
    return found;
}
