/* The parts of V8's serialization, byte for byte as V8 writes them. */
#include "v8/v8_writer.h"

#include <endian.h>
#include <math.h>

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

void v8_put_bytes(struct v8_writer *writer, struct kx_slice bytes)
{
    kx_add_slice(writer->out, bytes);
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
    v8_put_bytes(writer, bytes);
}

/* ---- Strings ------------------------------------------------------------ */

void v8_put_latin1(struct v8_writer *writer, struct kx_slice latin1)
{
    v8_put_tag(writer, '"');
    v8_put_varint(writer, (uint32_t)latin1.size);
    v8_put_bytes(writer, latin1);
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
    v8_put_bytes(writer, utf16);
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
static bool may_be_index(struct kx_slice text)
{
    return text.size == 1 ||
           (text.size > 1 && text.size <= 10 && text.data[0] != '0');
}

static bool is_index(struct kx_slice text, double *index_out)
{
    uint64_t index = 0;
    if (!may_be_index(text))
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

void v8_put_name(struct v8_writer *writer, struct kx_slice utf8)
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
    v8_put_bytes(writer, bytes);
    v8_put_tag(writer, 'V');
    v8_put_tag(writer, (char)type);
    v8_put_varint(writer, 0);
    v8_put_varint(writer, (uint32_t)bytes.size);
    v8_put_varint(writer, 0);
}
