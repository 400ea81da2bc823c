/* Keys as paths, both ways, and read from JSON arrays. Segments are split
 * before they are decoded (RFC 3986 section 2.4), so %2F is a character of a
 * part. Whether a segment is a literal is decided on the raw text too: %3D42 is
 * the string "=42". */
#include "rest/key_text.h"

#include "http/percent.h"

static bool bad(struct input_error *error, struct kx_slice segment,
                const char *reason)
{
    return input_error_set(error, PROBLEM_BAD_KEY,
                           "The path segment \"%.*s\" %s.",
                           kx_excerpt_size(segment), segment.data, reason);
}

/* True if the status of adding a part is KX_OK; else sets the error. */
static bool added(enum kx_status status, struct kx_slice segment,
                  const char *reason, struct input_error *error)
{
    if (status == KX_NO_MEMORY)
        return input_error_no_memory(error);
    return status == KX_OK || bad(error, segment, reason);
}

/* True if the text begins with `start`; *rest_out is then the rest. */
static bool after(struct kx_slice text, const char *start,
                  struct kx_slice *rest_out)
{
    size_t size = strlen(start);
    if (!kx_starts_with(text, kx_slice(start, size)))
        return false;
    *rest_out = kx_slice(text.data + size, text.size - size);
    return true;
}

/* Dot segments are removed by clients and proxies (RFC 3986 section 5.2.4),
 * even when they are percent-encoded. */
static bool is_dots(struct kx_slice text)
{
    return kx_equal(text, kx_text(".")) || kx_equal(text, kx_text(".."));
}

static bool add_string(struct kx_slice text, struct kx_buffer *key,
                       struct input_error *error)
{
    if (text.size == 0)
        return input_error_set(
            error, PROBLEM_BAD_KEY,
            "The path has an empty segment; an empty string part "
            "is written =%%22%%22.");
    if (is_dots(text))
        return input_error_set(
            error, PROBLEM_BAD_KEY,
            "The path has a segment \"%.*s\", which clients and "
            "proxies remove; the string is written =%%22%.*s%%22.",
            (int)text.size, text.data, (int)text.size, text.data);
    return added(kx_key_add_string(key, text), text, "is not valid UTF-8",
                 error);
}

/* Reads a quoted string: the form for strings that a segment cannot be: "", "."
 * and "..". */
static bool add_quoted(struct kx_slice token, struct kx_buffer *key,
                       struct input_error *error)
{
    struct kx_fault fault;
    struct kx_buffer text;
    if (kx_json_check(token, &fault) != KX_OK ||
        token.data[token.size - 1] != '"')
        return bad(error, token, "is not one JSON string");
    kx_buffer_init(&text, key->owner);
    kx_json_unescape(token, &text);
    bool done =
        !text.failed && kx_key_add_string(key, kx_buffer_slice(&text)) == KX_OK;
    kx_buffer_free(&text);
    return done || input_error_no_memory(error);
}

static bool add_bytes(bool readable, struct kx_slice literal,
                      const struct kx_buffer *bytes, struct kx_buffer *key,
                      struct input_error *error)
{
    if (!readable)
        return bad(error, literal,
                   "is not =b64: with base64url without padding, nor =hex: "
                   "with pairs of digits");
    if (bytes->failed)
        return input_error_no_memory(error);
    kx_key_add_bytes(key, kx_buffer_slice(bytes));
    return true;
}

static bool add_bigint(struct kx_slice literal, struct kx_buffer *key,
                       struct input_error *error)
{
    struct kx_slice decimal = kx_slice(literal.data, literal.size - 1);
    return added(kx_key_add_bigint(key, decimal), literal,
                 "is not a bigint of at most 255 bytes", error);
}

/* Reads a number. An integer that no double equals is refused, because rounding
 * would make it another key. */
static bool add_number(struct kx_slice literal, struct kx_buffer *key,
                       struct input_error *error)
{
    double number;
    struct kx_fault fault = {0};
    if (!kx_key_number_special(literal, &number) &&
        kx_key_number_parse(literal, &number, &fault) != KX_OK) {
        if (fault.inexact)
            return input_error_fault(error, &fault);
        return bad(
            error, literal,
            "must have one of these after '=': a number, a bigint like 42n, "
            "true, false, Infinity, NaN, b64:, hex:, a quoted string");
    }
    kx_key_add_number(key, number);
    return true;
}

/* Reads the text after the '='. */
static bool add_literal(struct kx_slice literal, struct kx_buffer *key,
                        struct input_error *error)
{
    struct kx_slice rest;
    if (kx_equal(literal, kx_text("true")))
        kx_key_add_boolean(key, true);
    else if (kx_equal(literal, kx_text("false")))
        kx_key_add_boolean(key, false);
    else if (after(literal, "\"", &rest))
        return add_quoted(literal, key, error);
    else if (after(literal, "b64:", &rest) || after(literal, "hex:", &rest)) {
        struct kx_buffer bytes;
        kx_buffer_init(&bytes, key->owner);
        bool readable = literal.data[0] == 'b' ? kx_base64_read(rest, &bytes)
                                               : kx_hex_read(rest, &bytes);
        bool done = add_bytes(readable, literal, &bytes, key, error);
        kx_buffer_free(&bytes);
        return done;
    } else if (literal.size > 1 && literal.data[literal.size - 1] == 'n')
        return add_bigint(literal, key, error);
    else
        return add_number(literal, key, error);
    return true;
}

static bool add_decoded(struct kx_slice segment, bool literal,
                        struct kx_buffer *key, struct input_error *error)
{
    if (literal)
        return add_literal(kx_slice(segment.data + 1, segment.size - 1), key,
                           error);
    return add_string(segment, key, error);
}

static bool add_segment(struct kx_slice segment, struct kx_buffer *key,
                        struct input_error *error)
{
    bool literal = segment.size > 0 && segment.data[0] == '=';
    if (segment.size == 0 || memchr(segment.data, '%', segment.size) == NULL)
        return add_decoded(segment, literal, key, error);
    struct kx_buffer decoded;
    kx_buffer_init(&decoded, key->owner);
    bool done = percent_decode(segment, &decoded);
    if (!done)
        bad(error, segment, "has a '%' without two hexadecimal digits");
    else if (decoded.failed)
        done = input_error_no_memory(error);
    else
        done = add_decoded(kx_buffer_slice(&decoded), literal, key, error);
    kx_buffer_free(&decoded);
    return done;
}

/* Refuses an empty last segment: in most cases the '/' before it is one too
 * many. */
static bool ends_with_slash(struct input_error *error)
{
    return input_error_set(error, PROBLEM_BAD_KEY,
                           "The path ends with '/': leave it out. An empty "
                           "string part is written =%%22%%22.");
}

bool key_text_from_path(struct kx_slice path, struct kx_buffer *key,
                        struct input_error *error)
{
    for (;;) {
        if (path.size == 0)
            return ends_with_slash(error);
        const uint8_t *slash = memchr(path.data, '/', path.size);
        size_t size = slash == NULL ? path.size : (size_t)(slash - path.data);
        if (!add_segment(kx_slice(path.data, size), key, error))
            return false;
        if (slash == NULL)
            break;
        path = kx_slice(slash + 1, path.size - size - 1);
    }
    return !key->failed || input_error_no_memory(error);
}

static bool needs_quotes(struct kx_slice text)
{
    return text.size == 0 || is_dots(text);
}

/* A leading '=' is escaped like all reserved characters, so the string is not
 * read as a literal. */
static void write_string(struct kx_slice text, struct kx_buffer *out)
{
    if (!needs_quotes(text)) {
        percent_encode(text, out);
        return;
    }
    kx_add_text(out, "=%22");
    kx_add_slice(out, text);
    kx_add_text(out, "%22");
}

static void write_number(double number, struct kx_buffer *out)
{
    char text[32];
    const char *special = kx_key_number_special_name(number);
    kx_add_byte(out, '=');
    if (special != NULL) {
        kx_add_text(out, special);
        return;
    }
    /* "1e+21" has a '+', which some clients take for a space. */
    percent_encode(kx_slice(text, kx_number_text(number, text)), out);
}

static void write_part(const struct kx_part *part, struct kx_buffer *out)
{
    switch (part->type) {
    case KX_BYTES_PART:
        kx_add_text(out, "=b64:");
        kx_base64_write(part->bytes, out);
        break;
    case KX_STRING:
        write_string(part->bytes, out);
        break;
    case KX_BIGINT:
        kx_add_byte(out, '=');
        kx_bigint_decimal(part, out);
        kx_add_byte(out, 'n');
        break;
    case KX_NUMBER:
        write_number(part->number, out);
        break;
    case KX_BOOLEAN:
        kx_add_text(out, part->boolean ? "=true" : "=false");
        break;
    }
}

void key_text_to_path(struct kx_slice key, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, key);
    for (bool first = true; kx_key_next(&reader, &part) == KX_OK;
         first = false) {
        if (!first)
            kx_add_byte(out, '/');
        write_part(&part, out);
    }
}

/* ---- JSON arrays -------------------------------------------------------- */

bool key_text_from_json(struct kx_slice array, struct kx_buffer *key,
                        struct input_error *error)
{
    struct kx_fault fault = {0};
    fault.status = kx_key_from_json(array, key, &fault);
    return fault.status == KX_OK || input_error_fault(error, &fault);
}

bool key_text_entry_from_json(struct kx_slice array, const void *memory,
                              struct kx_slice *key_out,
                              struct input_error *error)
{
    struct kx_buffer key;
    kx_buffer_init(&key, memory);
    if (!key_text_from_json(array, &key, error))
        return false;
    if (key.size == 0)
        return input_error_set(error, PROBLEM_BAD_KEY, "The key has no parts.");
    if (key.size > KX_KEY_MAX)
        return input_error_set(
            error, PROBLEM_KEY_TOO_LONG,
            "The key has %zu encoded bytes; the limit is %d.", key.size,
            KX_KEY_MAX);
    *key_out = kx_buffer_slice(&key);
    return true;
}

bool key_text_from_any_json(struct kx_slice text, struct kx_buffer *key,
                            struct input_error *error)
{
    struct kx_fault fault = {0};
    if (kx_json_check(text, &fault) != KX_OK)
        return input_error_fault(error, &fault);
    return key_text_from_json(text, key, error);
}
