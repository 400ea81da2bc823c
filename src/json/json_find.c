/* Finds values in JSON text that kx_json_check accepted: the type of a value,
 * its members and elements, what a JSON Pointer (RFC 6901) leads to, and the
 * pointer of a value. Nothing is allocated and nothing recurses. */
#include "json/json_find.h"

#include <stdio.h>

#include <utf8proc.h>

#include "json/json_scan.h"
#include "json/json_string.h"
#include "kindex/json.h"

enum kx_json_type kx_json_type(struct kx_slice text)
{
    const uint8_t *end = text.data + text.size;
    switch (json_peek(json_skip_space(text.data, end), end)) {
    case '{':
        return KX_JSON_OBJECT;
    case '[':
        return KX_JSON_ARRAY;
    case '"':
        return KX_JSON_STRING;
    case 't':
        return KX_JSON_TRUE;
    case 'f':
        return KX_JSON_FALSE;
    case 'n':
        return KX_JSON_NULL;
    default:
        return KX_JSON_NUMBER;
    }
}

static inline struct kx_slice between(const uint8_t *start, const uint8_t *end)
{
    return kx_slice(start, (size_t)(end - start));
}

/* ---- Members and elements ----------------------------------------------- */

/* `rest` begins after the opening bracket and always includes the closing
 * one. */
bool kx_json_iterate(struct kx_slice text, struct kx_json_iter *iter_out)
{
    const uint8_t *end = text.data + text.size;
    const uint8_t *at = json_skip_space(text.data, end);
    uint8_t bracket = json_peek(at, end);
    if (bracket != '{' && bracket != '[')
        return false;
    iter_out->rest = between(at + 1, end);
    iter_out->object = bracket == '{';
    return true;
}

/* A name token, and whether it has escapes. */
struct name {
    struct kx_slice token;
    bool escaped;
};

static inline struct name take_name(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *quote = json_skip_to_end(at + 1, end);
    bool escaped = *quote == '\\';
    const uint8_t *after = escaped ? json_skip_string(at, end) : quote + 1;
    return (struct name){.token = between(at, after), .escaped = escaped};
}

static inline __attribute__((always_inline)) bool
next(struct kx_json_iter *iter, struct name *name_out,
     struct kx_slice *value_out)
{
    const uint8_t *end = iter->rest.data + iter->rest.size;
    const uint8_t *at = json_skip_gap(iter->rest.data);
    if (*at == ',')
        at = json_skip_gap(at + 1);
    if (json_is_close(*at))
        return false;
    *name_out = (struct name){.token = kx_slice(at, 0)};
    if (iter->object) {
        *name_out = take_name(at, end);
        at = json_skip_gap(at + name_out->token.size);
        at = json_skip_gap(at + 1);
    }
    const uint8_t *after = json_skip_value(at, end);
    *value_out = between(at, after);
    iter->rest = between(after, end);
    return true;
}

bool kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                  struct kx_slice *value_out)
{
    struct name name;
    if (!next(iter, &name, value_out))
        return false;
    *name_out = name.token;
    return true;
}

/* ---- Pointers ----------------------------------------------------------- */

struct kx_slice json_pointer_take(struct kx_slice *pointer)
{
    const uint8_t *end = pointer->data + pointer->size;
    const uint8_t *start = pointer->data + 1;
    const uint8_t *at = start;
    while (at < end && *at != '/')
        at++;
    *pointer = between(at, end);
    return between(start, at);
}

/* Takes a character from a reference token; false for a '~' that is not part of
 * ~0 or ~1. */
static bool take_character(struct kx_slice *token, uint32_t *character_out)
{
    *character_out = json_string_next_plain(token);
    if (*character_out != '~')
        return true;
    uint8_t digit = token->size > 0 ? *token->data : 0;
    if (digit != '0' && digit != '1')
        return false;
    *character_out = digit == '0' ? '~' : '/';
    *token = kx_slice(token->data + 1, token->size - 1);
    return true;
}

/* Compares by characters, decoding both kinds of escapes: \ in the name's body,
 * ~ in the pointer's token. */
static bool same_characters(struct kx_slice body, struct kx_slice token)
{
    while (body.size > 0 && token.size > 0) {
        uint32_t character;
        if (!take_character(&token, &character) ||
            json_string_next(&body) != character)
            return false;
    }
    return body.size == 0 && token.size == 0;
}

/* `plain` says that the token has no '~'. */
static inline bool is_named(const struct name *name, struct kx_slice token,
                            bool plain)
{
    struct kx_slice body = json_string_body(name->token);
    if (!plain || name->escaped)
        return same_characters(body, token);
    return body.size == token.size && kx_equal(body, token);
}

static bool find_member(struct kx_json_iter iter, struct kx_slice token,
                        struct kx_slice *value_out)
{
    bool plain = memchr(token.data, '~', token.size) == NULL;
    struct name name;
    while (next(&iter, &name, value_out))
        if (is_named(&name, token, plain))
            return true;
    return false;
}

/* An array index has no leading zeros. It has at most 18 digits, which cannot
 * overflow. */
static bool read_index(struct kx_slice token, size_t *index_out)
{
    size_t index = 0;
    if (token.size == 0 || token.size > 18 ||
        (*token.data == '0' && token.size > 1))
        return false;
    for (size_t i = 0; i < token.size; i++) {
        if (!json_is_digit(token.data[i]))
            return false;
        index = index * 10 + (token.data[i] - '0');
    }
    *index_out = index;
    return true;
}

static bool find_element(struct kx_json_iter iter, struct kx_slice token,
                         struct kx_slice *value_out)
{
    struct name none;
    size_t index;
    if (!read_index(token, &index))
        return false;
    while (next(&iter, &none, value_out))
        if (index-- == 0)
            return true;
    return false;
}

/* Descends from value to value, a token of the pointer at a time. */
bool kx_json_find(struct kx_slice text, struct kx_slice pointer,
                  struct kx_slice *value_out)
{
    const uint8_t *end = text.data + text.size;
    const uint8_t *at = json_skip_space(text.data, end);
    struct kx_slice value = between(at, end);
    if (pointer.size == 0)
        value = between(at, json_skip_value(at, end));
    while (pointer.size > 0) {
        struct kx_json_iter iter;
        if (*pointer.data != '/' || !kx_json_iterate(value, &iter))
            return false;
        struct kx_slice token = json_pointer_take(&pointer);
        if (!(iter.object ? find_member(iter, token, &value)
                          : find_element(iter, token, &value)))
            return false;
    }
    *value_out = value;
    return true;
}

void json_pointer_add_name(struct kx_slice token, struct kx_buffer *out)
{
    uint8_t plain[KX_POINTER_MAX];
    size_t size = 0;
    for (size_t i = 0; i < token.size && size < sizeof plain; i++) {
        uint8_t byte = token.data[i];
        if (byte == '~' && i + 1 < token.size)
            byte = token.data[++i] == '0' ? '~' : '/';
        plain[size++] = byte;
    }
    kx_json_escape(kx_slice(plain, size), out);
    kx_add_byte(out, ':');
}

bool json_pointer_find(struct kx_slice text, struct kx_slice pointer,
                       struct charge *charge, struct kx_slice *value_out)
{
    bool found = kx_json_find(text, pointer, value_out);
    if (charge == NULL)
        return found;
    size_t tokens = 0;
    size_t passed = text.size;
    for (size_t i = 0; i < pointer.size; i++)
        tokens += pointer.data[i] == '/';
    if (found)
        passed = (size_t)(value_out->data - text.data) + value_out->size;
    charge_add(charge, passed * (tokens > 1 ? tokens : 1), CHARGE_PASSED);
    return found;
}

/* Writes the character of a name, escaped, to out, which holds 4 bytes. Returns
 * its bytes. */
static size_t write_character(uint32_t character, char *out)
{
    if (character == '~' || character == '/') {
        memcpy(out, character == '~' ? "~0" : "~1", 2);
        return 2;
    }
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)character,
                                        (utf8proc_uint8_t *)out);
}

/* Writes the reference token of a member or element, with its slash and a NUL,
 * and returns its bytes. 0: it does not fit into `room` bytes. */
static size_t write_token(struct kx_slice name, size_t index, char *out,
                          size_t room)
{
    char number[24];
    size_t size = (size_t)snprintf(number, sizeof number, "/%zu", index);
    if (name.size == 0) {
        if (size >= room)
            return 0;
        memcpy(out, number, size + 1);
        return size;
    }
    if (room < 2)
        return 0;
    size = 0;
    out[size++] = '/';
    for (struct kx_slice body = json_string_body(name); body.size > 0;) {
        char character[4];
        size_t more = write_character(json_string_next(&body), character);
        if (size + more >= room)
            return 0;
        memcpy(out + size, character, more);
        size += more;
    }
    out[size] = '\0';
    return size;
}

/* Takes the member or element with the byte at `at`. */
static bool find_child(struct kx_json_iter iter, const uint8_t *at,
                       struct kx_slice *name_out, struct kx_slice *value_out,
                       size_t *index_out)
{
    for (*index_out = 0; kx_json_next(&iter, name_out, value_out);
         ++*index_out) {
        const uint8_t *start =
            name_out->size > 0 ? name_out->data : value_out->data;
        if (start <= at && at < value_out->data + value_out->size)
            return true;
    }
    return false;
}

void json_pointer_write(struct kx_slice text, const uint8_t *at, char *out,
                        size_t room)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t index;
    *out = '\0';
    if (!kx_json_find(text, kx_text(""), &value))
        return;
    while (at > value.data && kx_json_iterate(value, &iter) &&
           find_child(iter, at, &name, &value, &index)) {
        size_t size = write_token(name, index, out, room);
        out[size] = '\0';
        if (size == 0)
            return;
        out += size;
        room -= size;
    }
}

bool kx_pointer_covers(struct kx_slice pointer, struct kx_slice other)
{
    return kx_starts_with(other, pointer) &&
           (other.size == pointer.size || other.data[pointer.size] == '/');
}

bool kx_pointer_valid(struct kx_slice text)
{
    if (text.size > 0 && text.data[0] != '/')
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '~' &&
            (i + 1 == text.size ||
             (text.data[i + 1] != '0' && text.data[i + 1] != '1')))
            return false;
    return text.size <= KX_POINTER_MAX;
}
