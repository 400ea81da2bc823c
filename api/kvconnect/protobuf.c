/* protobuf-c reads into an arena that is freed with the request, since it
 * allocates and frees many small pieces. Messages are written by hand, because
 * protobuf-c would need the whole reply as a tree first, with a copy of every
 * value. */
#include "kvconnect/protobuf.h"

#include <talloc.h>

enum {
    ARENA_BLOCK = 2048,       /* bytes of the first block */
    ARENA_ALLOWANCE = 1 << 19 /* bytes beside twice the body's */
};

/* Hands out pieces of blocks, each twice as large as the one before. */
struct block_arena {
    void *memory; /* talloc context of the blocks */
    uint8_t *at;
    size_t left;  /* of the current block */
    size_t block; /* size of the next one */
    size_t allowance;
    bool no_memory; /* of the system, not of the allowance */
};

static bool next_block(struct block_arena *arena, size_t size)
{
    while (arena->block < size)
        arena->block *= 2;
    arena->at = talloc_size(arena->memory, arena->block);
    arena->no_memory = arena->at == NULL;
    if (arena->no_memory)
        return false;
    arena->left = arena->block;
    arena->block *= 2;
    return true;
}

static void *arena_alloc(void *data, size_t size)
{
    struct block_arena *arena = data;
    size = (size + 15) & ~(size_t)15;
    if (size > arena->allowance)
        return NULL;
    if (size > arena->left && !next_block(arena, size))
        return NULL;
    void *piece = arena->at;
    arena->at += size;
    arena->left -= size;
    arena->allowance -= size;
    return piece;
}

static void arena_free(void *data, void *piece)
{
    (void)data;
    (void)piece;
}

void *protobuf_read(const struct request *request,
                    const ProtobufCMessageDescriptor *descriptor,
                    struct input_error *error)
{
    struct kx_slice body = request->body;
    struct block_arena arena = {.memory = request->memory,
                                .block = ARENA_BLOCK,
                                .allowance = 2 * body.size + ARENA_ALLOWANCE};
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
    void *message =
        protobuf_c_message_unpack(descriptor, &allocator, body.size, body.data);
    if (message == NULL && arena.no_memory)
        input_error_no_memory(error);
    else if (message == NULL)
        input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "The body is not a valid %s message, or has too many parts.",
            descriptor->short_name);
    return message;
}

/* ---- Writing ------------------------------------------------------------ */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, VARINT_MAX = 10 };

static size_t put_varint(uint64_t number, uint8_t *out)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        out[size++] = (uint8_t)(number | 0x80);
    out[size++] = (uint8_t)number;
    return size;
}

void protobuf_varint(uint64_t number, struct kx_buffer *out)
{
    uint8_t bytes[VARINT_MAX];
    kx_add(out, bytes, put_varint(number, bytes));
}

/* The tag of a field, and a varint. */
static void add_head(unsigned field, unsigned wire, uint64_t number,
                     struct kx_buffer *out)
{
    uint8_t bytes[1 + VARINT_MAX] = {(uint8_t)(field << 3 | wire),
                                     (uint8_t)number};
    if (number < 0x80)
        kx_add(out, bytes, 2);
    else
        kx_add(out, bytes, 1 + put_varint(number, bytes + 1));
}

void protobuf_number(unsigned field, uint64_t number, struct kx_buffer *out)
{
    if (number != 0)
        add_head(field, WIRE_VARINT, number, out);
}

void protobuf_begin(unsigned field, size_t size, struct kx_buffer *out)
{
    add_head(field, WIRE_BYTES, size, out);
}

void protobuf_bytes(unsigned field, struct kx_slice bytes,
                    struct kx_buffer *out)
{
    if (bytes.size == 0)
        return;
    protobuf_begin(field, bytes.size, out);
    kx_add_slice(out, bytes);
}

size_t protobuf_open(unsigned field, struct kx_buffer *out)
{
    protobuf_begin(field, 0, out);
    return out->size;
}

/* Bytes of the length before a place; before that is a tag of one byte. */
static size_t length_width(const uint8_t *end)
{
    size_t width = 1;
    while ((end[-1 - (ptrdiff_t)width] & 0x80) != 0)
        width++;
    return width;
}

size_t protobuf_expect(size_t place, size_t size, struct kx_buffer *out)
{
    uint8_t bytes[VARINT_MAX];
    size_t width = put_varint(size, bytes);
    if (out->failed || !kx_buffer_reserve(out, width))
        return place;
    size_t begin = place - length_width(out->data + place);
    size_t moved = begin + width;
    if (moved != place)
        memmove(out->data + moved, out->data + place, out->size - place);
    memcpy(out->data + begin, bytes, width);
    out->size += moved - place;
    return moved;
}

void protobuf_close(size_t place, struct kx_buffer *out)
{
    protobuf_expect(place, out->size - place, out);
}
