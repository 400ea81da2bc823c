/* Protocol buffer messages. protobuf-c unpacks a request's message into an
 * arena that belongs to the request; a reply's message is written straight into
 * the reply. */
#ifndef API_PROTOBUF_H
#define API_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>

#include "http/input_error.h"

/* Unpacks the body into a message in the request's memory, freed with the
 * request. Its size is bounded by that of the body, so that a small body cannot
 * become a large message. Returns NULL with an error if the body is not such a
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

/* Append a varint, a number field, or a field of bytes. As in proto3, a field
 * that is 0 or empty is omitted. Field numbers are at most 15. Lack of memory
 * shows in out->failed. */
void protobuf_varint(uint64_t number, struct kx_buffer *out);
void protobuf_number(unsigned field, uint64_t number, struct kx_buffer *out);
void protobuf_bytes(unsigned field, struct kx_slice bytes,
                    struct kx_buffer *out);

/* Begins a field that is a message of `size` bytes, which the caller appends
 * next. An empty message is written, too. */
void protobuf_begin(unsigned field, size_t size, struct kx_buffer *out);

/* Write a message of unknown size: the bytes appended between open and close.
 * protobuf_open returns the place to pass to protobuf_close, which moves the
 * bytes if their size needs more than one byte, or more than was expected. */
size_t protobuf_open(unsigned field, struct kx_buffer *out);
void protobuf_close(size_t place, struct kx_buffer *out);
/* Reserves room for the length of an open message of about `size` bytes, so
 * that protobuf_close need not move it. Returns the new place of the message.
 */
size_t protobuf_expect(size_t place, size_t size, struct kx_buffer *out);

#endif
