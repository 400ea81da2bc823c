/* Escapes of JSON strings: decoded, written, and compared by the characters
 * that they denote. */
#include "json/json_string.h"

#include <stdio.h>

#include <utf8proc.h>

#include "json/json_scan.h"

/* Reads four checked hexadecimal digits of either case. */
static uint32_t hex4(const uint8_t *digits)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (uint32_t)kx_hex_value(digits[i]);
    return unit;
}

/* Takes the digits after "\u", and both halves of a surrogate pair. */
static uint32_t next_unicode(struct kx_slice *body)
{
    uint32_t unit = hex4(body->data);
    size_t size = 4;
    if (unit >= 0xd800 && unit < 0xe000) {
        uint32_t low = hex4(body->data + 6);
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        size = 10;
    }
    *body = kx_slice(body->data + size, body->size - size);
    return unit;
}

static uint32_t next_escape(struct kx_slice *body)
{
    uint8_t letter = body->data[1];
    *body = kx_slice(body->data + 2, body->size - 2);
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'u':
        return next_unicode(body);
    default:
        return letter;
    }
}

/* Always advances, even in text that is not valid UTF-8. */
uint32_t json_string_next_plain(struct kx_slice *text)
{
    int32_t point = 0;
    utf8proc_ssize_t size =
        utf8proc_iterate(text->data, (utf8proc_ssize_t)text->size, &point);
    if (size < 1)
        size = 1;
    *text = kx_slice(text->data + size, text->size - (size_t)size);
    return (uint32_t)point;
}

uint32_t json_string_next(struct kx_slice *body)
{
    return *body->data == '\\' ? next_escape(body)
                               : json_string_next_plain(body);
}

static struct kx_slice skip_bytes(struct kx_slice text, size_t count)
{
    return kx_slice(text.data + count, text.size - count);
}

/* Skips equal bytes, up to an escape or a difference. */
static void skip_same(struct kx_slice *a, struct kx_slice *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    size_t same = 0;
    while (same < size && a->data[same] == b->data[same] &&
           a->data[same] != '\\')
        same++;
    *a = skip_bytes(*a, same);
    *b = skip_bytes(*b, same);
}

int json_string_compare(struct kx_slice a, struct kx_slice b)
{
    a = json_string_body(a);
    b = json_string_body(b);
    for (skip_same(&a, &b); a.size > 0 && b.size > 0; skip_same(&a, &b)) {
        /* Bytes of UTF-8, even within a character, order as their code points
         * do. An escape begins where a character of the other string begins. */
        uint32_t x = *a.data;
        uint32_t y = *b.data;
        if (x == '\\' || y == '\\') {
            x = json_string_next(&a);
            y = json_string_next(&b);
        }
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a.size > 0) - (b.size > 0);
}

static bool has_escape(struct kx_slice text)
{
    return memchr(text.data, '\\', text.size) != NULL;
}

/* Without escapes, equal tokens have equal bytes. */
bool json_string_equal(struct kx_slice a, struct kx_slice b)
{
    if (kx_equal(a, b))
        return true;
    return (has_escape(a) || has_escape(b)) && json_string_compare(a, b) == 0;
}

void kx_json_unescape(struct kx_slice token, struct kx_buffer *out)
{
    struct kx_slice body = json_string_body(token);
    while (body.size > 0) {
        const uint8_t *escape = memchr(body.data, '\\', body.size);
        size_t plain =
            escape == NULL ? body.size : (size_t)(escape - body.data);
        kx_add(out, body.data, plain);
        body = kx_slice(body.data + plain, body.size - plain);
        if (body.size == 0)
            return;
        uint8_t utf8[4];
        uint32_t point = next_escape(&body);
        kx_add(out, utf8,
               (size_t)utf8proc_encode_char((utf8proc_int32_t)point, utf8));
    }
}

/* Writes the short form if JSON has one, otherwise \u00xx. */
static void escape_byte(uint8_t byte, struct kx_buffer *out)
{
    static const char letters[] = "btn?fr";
    char text[8] = {'\\', (char)byte};
    if (byte >= '\b' && byte <= '\r' && byte != '\v')
        text[1] = letters[byte - '\b'];
    else if (byte < ' ')
        snprintf(text, sizeof(text), "\\u%04x", byte);
    kx_add_text(out, text);
}

/* True if a text of less than JSON_BLOCK bytes has no stop. Tests two words
 * that overlap, or one word of two overlapping halves. */
static bool is_short_plain(struct kx_slice text)
{
    const uint8_t *at = text.data;
    uint64_t word = ' ' * JSON_ONES;
    if (text.size >= sizeof word)
        return (json_word_stops(json_word(at)) |
                json_word_stops(json_word(at + text.size - sizeof word))) == 0;
    if (text.size >= sizeof(uint32_t)) {
        uint32_t halves[2];
        memcpy(&halves[0], at, sizeof halves[0]);
        memcpy(&halves[1], at + text.size - sizeof halves[1], sizeof halves[1]);
        return json_word_stops((uint64_t)halves[0] << 32 | halves[1]) == 0;
    }
    for (size_t i = 0; i < text.size; i++)
        word = word << 8 | at[i];
    return json_word_stops(word) == 0;
}

/* The next byte from `at` on that must be escaped, or the end. After the whole
 * blocks, the last JSON_BLOCK bytes of the text are tested as one block. */
static const uint8_t *skip_plain(const uint8_t *at, struct kx_slice text)
{
    const uint8_t *end = text.data + text.size;
    while (end - at >= JSON_BLOCK && json_stops(at) == 0)
        at += JSON_BLOCK;
    if (end - at < JSON_BLOCK && text.size >= JSON_BLOCK &&
        json_stops(end - JSON_BLOCK) == 0)
        return end;
    if (text.size < JSON_BLOCK && is_short_plain(text))
        return end;
    while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
        at++;
    return at;
}

void kx_json_escape(struct kx_slice utf8, struct kx_buffer *out)
{
    const uint8_t *at = utf8.data;
    const uint8_t *end = at + utf8.size;
    kx_add_byte(out, '"');
    for (;;) {
        const uint8_t *stop = skip_plain(at, utf8);
        kx_add(out, at, (size_t)(stop - at));
        if (stop == end)
            break;
        escape_byte(*stop, out);
        at = stop + 1;
    }
    kx_add_byte(out, '"');
}
