/* Writing V8's serialization, version 15. Running out of memory shows in the
 * buffer's `failed` only. */
#ifndef V8_WRITER_H
#define V8_WRITER_H

#include "kindex.h"

enum { V8_VERSION = 15 };

struct v8_writer {
    struct kx_buffer *out;
    size_t start; /* of the value in out */
};

/* Appends what a value begins with. */
void v8_begin(struct v8_writer *writer, struct kx_buffer *out);

void v8_put_tag(struct v8_writer *writer, char tag);
void v8_put_varint(struct v8_writer *writer, uint32_t number);
void v8_put_bytes(struct v8_writer *writer, struct kx_slice bytes);
/* A tag that is followed by a double. */
void v8_put_double(struct v8_writer *writer, char tag, double number);
/* A number value: an integer of 32 bits as such. */
void v8_put_number(struct v8_writer *writer, double number);
/* A bigint value; the bytes are a multiple of 8. */
void v8_put_bigint(struct v8_writer *writer, struct kx_slice bytes,
                   bool negative);
/* String values, of characters up to U+00FF and of UTF-16. */
void v8_put_latin1(struct v8_writer *writer, struct kx_slice latin1);
void v8_put_utf16(struct v8_writer *writer, struct kx_slice utf16);
/* A string value from valid UTF-8, in the shorter of both. */
void v8_put_string(struct v8_writer *writer, struct kx_slice utf8);
/* A member's name: one that is the index of an array is written as a number. */
void v8_put_name(struct v8_writer *writer, struct kx_slice utf8);
/* An ArrayBuffer's bytes, and a view of all of them. */
void v8_put_view(struct v8_writer *writer, uint8_t type, struct kx_slice bytes);

#endif
