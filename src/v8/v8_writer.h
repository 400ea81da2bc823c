/* A writer for V8's serialization, version 15. If memory runs out, only the
 * buffer's `failed` says so. */
#ifndef V8_WRITER_H
#define V8_WRITER_H

#include "kindex.h"

enum { V8_VERSION = 15 };

struct v8_writer {
    struct kx_buffer *out;
    size_t start; /* position of the value in out */
};

/* Begins a value: appends the header. */
void v8_begin(struct v8_writer *writer, struct kx_buffer *out);

void v8_put_tag(struct v8_writer *writer, char tag);
void v8_put_varint(struct v8_writer *writer, uint32_t number);
/* A tag and a double. */
void v8_put_double(struct v8_writer *writer, char tag, double number);
/* A number value: as an integer if it is one of 32 bits, otherwise as a
 * double. */
void v8_put_number(struct v8_writer *writer, double number);
/* A bigint value; the number of bytes is a multiple of 8. */
void v8_put_bigint(struct v8_writer *writer, struct kx_slice bytes,
                   bool negative);
/* String values from Latin-1 (characters up to U+00FF) and from UTF-16. */
void v8_put_latin1(struct v8_writer *writer, struct kx_slice latin1);
void v8_put_utf16(struct v8_writer *writer, struct kx_slice utf16);
/* A string value from valid UTF-8: Latin-1 if that can hold it, otherwise
 * UTF-16. */
void v8_put_string(struct v8_writer *writer, struct kx_slice utf8);
/* An ArrayBuffer with these bytes, and a view of all of it. */
void v8_put_view(struct v8_writer *writer, uint8_t type, struct kx_slice bytes);

/* Writes any JSON value, or a string token as a string or a member's name.
 * kx_json_check must have accepted the text. */
void v8_encode(struct v8_writer *writer, struct kx_slice json);
void v8_encode_string(struct v8_writer *writer, struct kx_slice token);
void v8_encode_name(struct v8_writer *writer, struct kx_slice token);

/* The number of elements of an array or members of an object. */
uint32_t v8_count(struct kx_slice json);

#endif
