/* Errors in a value, taking its bytes, and the numbers of its objects. */
#include "v8/v8_input.h"

#include <endian.h>

bool v8_wrong(struct v8_reader *reader, const char *sentence)
{
    if (reader->status == KX_OK) {
        reader->status = KX_BAD_VALUE;
        reader->wrong = sentence;
    }
    return false;
}

bool v8_ends_early(struct v8_reader *reader)
{
    return v8_wrong(reader, "it ends too early");
}

bool v8_take_bytes(struct v8_reader *reader, size_t size,
                   struct kx_slice *bytes_out)
{
    if (reader->size - reader->at < size)
        return v8_ends_early(reader);
    *bytes_out = kx_slice(reader->data + reader->at, size);
    reader->at += size;
    return true;
}

/* Seven bits in each byte, the lowest first. V8's lengths have at most 32
 * bits. */
bool v8_take_long_varint(struct v8_reader *reader, uint32_t *number_out)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (reader->at == reader->size)
            return v8_ends_early(reader);
        uint8_t byte = reader->data[reader->at++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number_out = (uint32_t)number;
            return number <= UINT32_MAX ||
                   v8_wrong(reader, "the number has more than 32 bits");
        }
    }
    return v8_wrong(reader, "the number has more than 32 bits");
}

bool v8_take_double(struct v8_reader *reader, double *number_out)
{
    struct kx_slice bytes = {0};
    uint64_t bits;
    if (!v8_take_bytes(reader, sizeof bits, &bytes))
        return false;
    memcpy(&bits, bytes.data, sizeof bits); /* NOLINT: they are there */
    bits = le64toh(bits);
    memcpy(number_out, &bits, sizeof bits);
    return true;
}

/* ---- Objects ------------------------------------------------------------ */

struct v8_object v8_object_at(const struct v8_reader *reader, uint32_t id)
{
    struct v8_object object;
    if (reader->objects.size == 0)
        return reader->few[id];
    memcpy(&object, reader->objects.data + id * sizeof object, sizeof object);
    return object;
}

/* Objects that are read through a reference were numbered before. */
bool v8_add_object(struct v8_reader *reader, struct v8_token *token, size_t at,
                   uint32_t buffer)
{
    struct v8_object object = {.at = (uint32_t)at, .buffer = buffer};
    token->id = (uint32_t)reader->object_count;
    if (reader->entered > 0)
        return true;
    if (reader->object_count < V8_OBJECTS_FEW) {
        reader->few[reader->object_count++] = object;
        return true;
    }
    if (reader->object_count == V8_OBJECTS_FEW)
        kx_add(&reader->objects, reader->few, sizeof reader->few);
    kx_add(&reader->objects, &object, sizeof object);
    if (reader->objects.failed) {
        reader->status = KX_NO_MEMORY;
        return false;
    }
    reader->object_count++;
    return true;
}
