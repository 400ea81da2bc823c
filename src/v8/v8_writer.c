/* Writes V8's serialization, byte for byte as V8 does: single values, and JSON
 * text as V8 serializes the result of JSON.parse. */
#include "v8/v8_writer.h"

#include <endian.h>
#include <math.h>

#include "json/json_scan.h"
#include "json/json_string.h"

void v8_begin(struct v8_writer *writer, struct kx_buffer *out)
{
    writer->out = out;
    writer->start = out->size;
    kx_add_byte(out, 0xff);
    kx_add_byte(out, V8_VERSION);
}

void v8_put_tag(struct v8_writer *writer, char tag)
{
    kx_add_byte(writer->out, (uint8_t)tag);
}

void v8_put_varint(struct v8_writer *writer, uint32_t number)
{
    for (; number >= 0x80; number >>= 7)
        kx_add_byte(writer->out, (uint8_t)(number | 0x80));
    kx_add_byte(writer->out, (uint8_t)number);
}

void v8_put_double(struct v8_writer *writer, char tag, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits = htole64(bits);
    v8_put_tag(writer, tag);
    kx_add(writer->out, &bits, sizeof bits);
}

void v8_put_number(struct v8_writer *writer, double number)
{
    if (!(number >= INT32_MIN && number <= INT32_MAX) ||
        number != (double)(int32_t)number || (number == 0 && signbit(number))) {
        v8_put_double(writer, 'N', number);
        return;
    }
    int32_t integer = (int32_t)number;
    v8_put_tag(writer, 'I');
    v8_put_varint(writer, (uint32_t)integer << 1 ^ (uint32_t)(integer >> 31));
}

void v8_put_bigint(struct v8_writer *writer, struct kx_slice bytes,
                   bool negative)
{
    v8_put_tag(writer, 'Z');
    v8_put_varint(writer, (uint32_t)bytes.size << 1 | negative);
    kx_add_slice(writer->out, bytes);
}

/* ---- Strings ------------------------------------------------------------ */

void v8_put_latin1(struct v8_writer *writer, struct kx_slice latin1)
{
    v8_put_tag(writer, '"');
    v8_put_varint(writer, (uint32_t)latin1.size);
    kx_add_slice(writer->out, latin1);
}

static size_t varint_size(uint32_t number)
{
    size_t size = 1;
    for (; number >= 0x80; number >>= 7)
        size++;
    return size;
}

/* Padding puts the characters at an even position. */
static void begin_utf16(struct v8_writer *writer, uint32_t size)
{
    size_t at = writer->out->size - writer->start + 1 + varint_size(size);
    if (at % 2 != 0)
        kx_add_byte(writer->out, 0);
    v8_put_tag(writer, 'c');
    v8_put_varint(writer, size);
}

void v8_put_utf16(struct v8_writer *writer, struct kx_slice utf16)
{
    begin_utf16(writer, (uint32_t)utf16.size);
    kx_add_slice(writer->out, utf16);
}

/* The size of a text, and whether a character of it is above U+00FF. */
struct measure {
    uint32_t units; /* of UTF-16 */
    bool wide;
};

/* Decides by the first bytes of the characters: up to C3 they are at most
 * U+00FF, from F0 on they are two units. */
static struct measure measure(struct kx_slice utf8)
{
    struct measure measure = {.units = 0};
    uint8_t most = 0;
    for (size_t i = 0; i < utf8.size; i++) {
        uint8_t byte = utf8.data[i];
        measure.units += ((byte & 0xc0) != 0x80) + (byte >= 0xf0);
        most = byte > most ? byte : most;
    }
    measure.wide = most > 0xc3;
    return measure;
}

static void add_latin1(struct kx_slice utf8, struct kx_buffer *out)
{
    for (size_t i = 0; i < utf8.size; i++) {
        uint8_t byte = utf8.data[i];
        if (byte >= 0x80)
            byte = (uint8_t)(byte << 6 | (utf8.data[++i] & 0x3f));
        kx_add_byte(out, byte);
    }
}

static void add_unit(struct kx_buffer *out, uint32_t unit)
{
    uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
    kx_add(out, bytes, sizeof bytes);
}

static void add_utf16(struct kx_slice utf8, struct kx_buffer *out)
{
    while (utf8.size > 0) {
        uint32_t point = json_string_next_plain(&utf8);
        if (point < 0x10000) {
            add_unit(out, point);
        } else {
            add_unit(out, 0xd800 + ((point - 0x10000) >> 10));
            add_unit(out, 0xdc00 + (point & 0x3ff));
        }
    }
}

static bool is_ascii(struct kx_slice utf8)
{
    static const uint64_t high = UINT64_C(0x8080808080808080);
    const uint8_t *at = utf8.data;
    size_t left = utf8.size;
    uint64_t any = 0;
    for (; left >= sizeof any; left -= sizeof any, at += sizeof any) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        any |= word;
    }
    for (; left > 0; left--)
        any |= *at++;
    return (any & high) == 0;
}

void v8_put_string(struct v8_writer *writer, struct kx_slice utf8)
{
    if (is_ascii(utf8)) {
        v8_put_latin1(writer, utf8);
        return;
    }
    struct measure size = measure(utf8);
    if (size.wide) {
        begin_utf16(writer, size.units * 2);
        add_utf16(utf8, writer->out);
        return;
    }
    v8_put_tag(writer, '"');
    v8_put_varint(writer, size.units);
    add_latin1(utf8, writer->out);
}

/* An array index has no leading zeros and is at most 2^32 - 2. */
static bool is_index(struct kx_slice text, double *index_out)
{
    uint64_t index = 0;
    if (text.size == 0 || text.size > 10 ||
        (text.size > 1 && text.data[0] == '0'))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        index = index * 10 + digit;
    }
    *index_out = (double)index;
    return index < UINT32_MAX;
}

static void put_name(struct v8_writer *writer, struct kx_slice utf8)
{
    double index;
    if (is_index(utf8, &index))
        v8_put_number(writer, index);
    else
        v8_put_string(writer, utf8);
}

void v8_put_view(struct v8_writer *writer, uint8_t type, struct kx_slice bytes)
{
    v8_put_tag(writer, 'B');
    v8_put_varint(writer, (uint32_t)bytes.size);
    kx_add_slice(writer->out, bytes);
    v8_put_tag(writer, 'V');
    v8_put_tag(writer, (char)type);
    v8_put_varint(writer, 0);
    v8_put_varint(writer, (uint32_t)bytes.size);
    v8_put_varint(writer, 0);
}

/* ---- JSON ---------------------------------------------------------------
 * The recursion is as deep as the text, at most KX_JSON_DEPTH_MAX. The length
 * of an array comes before its elements, so a first scan counts the elements of
 * all arrays: the text is scanned twice, however deep it is. */

typedef void put_fn(struct v8_writer *writer, struct kx_slice utf8);

/* Most strings have no escapes and are written without a copy. */
static void put_token(struct v8_writer *writer, struct kx_slice token,
                      put_fn *put)
{
    struct kx_slice body = json_string_body(token);
    if (body.size == 0 || memchr(body.data, '\\', body.size) == NULL) {
        put(writer, body);
        return;
    }
    struct kx_buffer plain;
    kx_buffer_init(&plain, writer->out->owner);
    kx_json_unescape(token, &plain);
    put(writer, kx_buffer_slice(&plain));
    if (plain.failed)
        writer->out->failed = true;
    kx_buffer_free(&plain);
}

void v8_encode_string(struct v8_writer *writer, struct kx_slice token)
{
    put_token(writer, token, v8_put_string);
}

void v8_encode_name(struct v8_writer *writer, struct kx_slice token)
{
    put_token(writer, token, put_name);
}

uint32_t v8_count(struct kx_slice json)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    uint32_t count = 0;
    if (kx_json_iterate(json, &iter))
        while (kx_json_next(&iter, &name, &value))
            count++;
    return count;
}

/* The state of a conversion. */
struct encoding {
    struct v8_writer *writer;
    const uint8_t *end;
    struct kx_buffer lengths; /* uint32_t, of all arrays in the order of their
                                 opening brackets */
    size_t next;              /* number of the next length */
};

/* ---- The lengths of arrays ---------------------------------------------- */

enum { NO_ARRAY = SIZE_MAX >> 1 };

/* The number of the array at each depth; NO_ARRAY in an object and outside. */
struct nesting {
    size_t array[KX_JSON_DEPTH_MAX + 1];
    size_t depth;
};

static void open_bracket(struct encoding *encoding, struct nesting *nesting,
                         bool array)
{
    static const uint32_t none = 0;
    size_t number = encoding->lengths.size / sizeof none;
    nesting->array[++nesting->depth] = array ? number : NO_ARRAY;
    if (array)
        kx_add(&encoding->lengths, &none, sizeof none);
}

/* A non-empty array has one element more than commas. */
static void count_byte(struct encoding *encoding, struct nesting *nesting,
                       uint8_t byte)
{
    uint32_t *lengths = (uint32_t *)encoding->lengths.data;
    size_t array = nesting->array[nesting->depth];
    bool closes = byte == ']' || byte == '}';
    if (closes)
        nesting->depth--;
    else if (array != NO_ARRAY && (byte == ',' || lengths[array] == 0))
        lengths[array]++;
    if (byte == '[' || byte == '{')
        open_bracket(encoding, nesting, byte == '[');
}

static void find_lengths(struct encoding *encoding, const uint8_t *at)
{
    struct nesting nesting = {.array = {NO_ARRAY}};
    while (at < encoding->end && !encoding->lengths.failed) {
        uint8_t byte = *at;
        if (!json_is_space(byte))
            count_byte(encoding, &nesting, byte);
        at = byte == '"' ? json_skip_string(at, encoding->end) : at + 1;
    }
}

/* ---- Values ------------------------------------------------------------- */

static const uint8_t *encode(struct encoding *encoding, const uint8_t *at);

static const uint8_t *skip_space(const struct encoding *encoding,
                                 const uint8_t *at)
{
    return json_skip_space(at, encoding->end);
}

static struct kx_slice between(const uint8_t *start, const uint8_t *end)
{
    return kx_slice(start, (size_t)(end - start));
}

/* From after a child to the next one or the closing bracket. */
static const uint8_t *skip_comma(const struct encoding *encoding,
                                 const uint8_t *at)
{
    at = skip_space(encoding, at);
    return *at == ',' ? skip_space(encoding, at + 1) : at;
}

/* Begins after the opening bracket. The length of an array is written before
 * its elements, the number of an object's members after them. */
static const uint8_t *encode_elements(struct encoding *encoding,
                                      const uint8_t *at)
{
    struct v8_writer *writer = encoding->writer;
    uint32_t length;
    memcpy(&length, encoding->lengths.data + encoding->next * sizeof length,
           sizeof length);
    encoding->next++;
    v8_put_tag(writer, 'A');
    v8_put_varint(writer, length);
    for (at = skip_space(encoding, at); *at != ']';)
        at = skip_comma(encoding, encode(encoding, at));
    v8_put_tag(writer, '$');
    v8_put_varint(writer, 0);
    v8_put_varint(writer, length);
    return at + 1;
}

static const uint8_t *encode_members(struct encoding *encoding,
                                     const uint8_t *at)
{
    struct v8_writer *writer = encoding->writer;
    uint32_t count = 0;
    v8_put_tag(writer, 'o');
    for (at = skip_space(encoding, at); *at != '}'; count++) {
        const uint8_t *after = json_skip_string(at, encoding->end);
        v8_encode_name(writer, between(at, after));
        at = skip_space(encoding, after) + 1; /* the colon */
        at = encode(encoding, skip_space(encoding, at));
        at = skip_comma(encoding, at);
    }
    v8_put_tag(writer, '{');
    v8_put_varint(writer, count);
    return at + 1;
}

/* A number ends at the first byte that cannot be part of it. */
static const uint8_t *encode_number(struct encoding *encoding,
                                    const uint8_t *at)
{
    const uint8_t *end = at;
    double number = 0;
    while (end<encoding->end && * end> ' ' && *end != ',' && *end != ']' &&
           *end != '}')
        end++;
    kx_number_parse(between(at, end), &number);
    v8_put_number(encoding->writer, number);
    return end;
}

static const uint8_t *encode_word(struct encoding *encoding, char tag,
                                  const uint8_t *end)
{
    v8_put_tag(encoding->writer, tag);
    return end;
}

/* Encodes the value at `at`; returns the position after it. */
static const uint8_t *encode(struct encoding *encoding, const uint8_t *at)
{
    const uint8_t *end;
    switch (*at) {
    case 'n':
        return encode_word(encoding, '0', at + 4);
    case 't':
        return encode_word(encoding, 'T', at + 4);
    case 'f':
        return encode_word(encoding, 'F', at + 5);
    case '"':
        end = json_skip_string(at, encoding->end);
        v8_encode_string(encoding->writer, between(at, end));
        return end;
    case '[':
        return encode_elements(encoding, at + 1);
    case '{':
        return encode_members(encoding, at + 1);
    default:
        return encode_number(encoding, at);
    }
}

void v8_encode(struct v8_writer *writer, struct kx_slice json)
{
    struct encoding encoding = {.writer = writer, .end = json.data + json.size};
    kx_buffer_init(&encoding.lengths, writer->out->owner);
    find_lengths(&encoding, json.data);
    if (encoding.lengths.failed)
        writer->out->failed = true;
    else
        encode(&encoding, skip_space(&encoding, json.data));
    kx_buffer_free(&encoding.lengths);
}

/* kx_json_find drops the white space around the value. */
void kx_v8_from_json(struct kx_slice json, struct kx_buffer *out)
{
    struct v8_writer writer;
    v8_begin(&writer, out);
    if (kx_json_find(json, kx_text(""), &json))
        v8_encode(&writer, json);
}
