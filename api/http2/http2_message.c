/* The characters of names and values are checked by functions of nghttp2, which
 * need no session. */
#include "http2/http2_message.h"

#include <nghttp2/nghttp2.h>
#include <string.h>
#include <strings.h>

/* Fields that were there, and what matters of their values. */
enum http2_seen {
    METHOD = 1,
    SCHEME = 2,
    PATH = 4,
    AUTHORITY = 8,
    HOST = 16,
    LENGTH = 32,
    REGULAR = 64, /* any that is no pseudo field */
    CONNECT = 128,
    OPTIONS = 256,
    ASTERISK = 512 /* as the path */
};

static const uint64_t LENGTH_MAX = INT64_MAX;

static bool is(struct kx_slice text, const char *other, size_t size)
{
    return text.size == size && memcmp(text.data, other, size) == 0;
}

/* ---- Pseudo fields ------------------------------------------------------ */

/* A scheme is not used: its characters are those of a token, or fewer. */
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

/* Notes what the value says; false when it is malformed. */
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

static bool take_host(struct http2_message *message)
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
        return !is(name, "host", 4) || take_host(message);
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
