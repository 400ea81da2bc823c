/* The conversion of JSON text to the bytes that V8 writes for the result of
 * JSON.parse. The recursion is as deep as the text, at most KX_JSON_DEPTH_MAX.
 * The text is scanned twice, at any depth: the length of an array comes before
 * its elements, so a first scan counts the elements of all arrays. */
#include "v8/v8_encode.h"

#include "json/json_scan.h"
#include "json/json_string.h"

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
    put_token(writer, token, v8_put_name);
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
