/* Protocol buffer messages in both directions: those of requests are unpacked
 * by protobuf-c into an arena that belongs to the request, those of replies are
 * written straight into the reply. */
#ifndef API_PROTOBUF_H
#define API_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>

#include "http/input_error.h"

/* The body as a message; it lies in the request's memory and is freed with it.
 * What it may take there is bounded by the size of the body, so that a small
 * body cannot become a large message. NULL with an error: the body is no such
 * message, or memory ran out. */
void *protobuf_read(const struct request *request,
                    const ProtobufCMessageDescriptor *descriptor,
                    struct input_error *error);

static inline struct kx_slice protobuf_slice(ProtobufCBinaryData bytes)
{
    return kx_slice(bytes.data, bytes.len);
}

/* Number of bytes of a varint. */
static inline size_t protobuf_varint_size(uint64_t number)
{
    return (size_t)(70 - __builtin_clzll(number | 1)) / 7;
}

/* Append a varint, a number field, a field of bytes. As in proto3 a field that
 * is 0 or empty is left out. Fields have numbers up to 15. */
void protobuf_varint(uint64_t number, struct kx_buffer *out);
void protobuf_number(unsigned field, uint64_t number, struct kx_buffer *out);
void protobuf_bytes(unsigned field, struct kx_slice bytes,
                    struct kx_buffer *out);

/* Begins a field that is a message of `size` bytes, which the caller appends;
 * it is written also when it is empty. */
void protobuf_begin(unsigned field, size_t size, struct kx_buffer *out);

/* The same for a message whose size is not known yet: what is appended between
 * open and close. open returns the place for close. Close moves what was
 * appended when the size needs more than one byte, or than was expected. */
size_t protobuf_open(unsigned field, struct kx_buffer *out);
void protobuf_close(size_t place, struct kx_buffer *out);
/* An open message is going to have about so many bytes: there will be less to
 * move. Returns the place that it has now. */
size_t protobuf_expect(size_t place, size_t size, struct kx_buffer *out);

#endif
