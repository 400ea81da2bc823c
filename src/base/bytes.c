/* Byte strings: slices point, buffers own and grow. A failed buffer keeps its
 * contents and ignores further additions, so a text is either complete or known
 * to be cut. */
#include <talloc.h>

#include "kindex/bytes.h"

enum { SMALLEST = 64, LARGE = 1 << 20 };

static size_t shorter(struct kx_slice a, struct kx_slice b)
{
    return a.size < b.size ? a.size : b.size;
}

/* An empty slice may hold NULL, which memcmp must not be given. */
static int compare_bytes(const uint8_t *a, const uint8_t *b, size_t size)
{
    return size == 0 ? 0 : memcmp(a, b, size);
}

int kx_compare(struct kx_slice a, struct kx_slice b)
{
    int order = compare_bytes(a.data, b.data, shorter(a, b));
    if (order != 0)
        return order;
    return (a.size > b.size) - (a.size < b.size);
}

bool kx_equal(struct kx_slice a, struct kx_slice b)
{
    return a.size == b.size && compare_bytes(a.data, b.data, a.size) == 0;
}

bool kx_starts_with(struct kx_slice whole, struct kx_slice prefix)
{
    return whole.size >= prefix.size &&
           compare_bytes(whole.data, prefix.data, prefix.size) == 0;
}

void kx_buffer_init(struct kx_buffer *buffer, const void *owner)
{
    *buffer = (struct kx_buffer){.owner = owner};
}

/* Leaves no capacity, so that each later addition calls kx_buffer_reserve,
 * which fails. */
static bool refuse(struct kx_buffer *buffer)
{
    buffer->failed = true;
    buffer->capacity = buffer->size;
    return false;
}

/* Doubles a small capacity, so that many small additions cost one copy on
 * average. A large buffer grows by an eighth: it has its own pages, which
 * the system moves without a copy, and doubling would waste memory. */
static size_t larger(size_t capacity)
{
    if (capacity < SMALLEST / 2)
        return SMALLEST;
    return capacity < LARGE ? capacity * 2 : capacity + capacity / 8;
}

/* Limits a buffer to half of the address space, so that the sum cannot
 * overflow. */
bool kx_buffer_reserve(struct kx_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (buffer->capacity - buffer->size >= more)
        return true;
    if (more > SIZE_MAX / 2 - buffer->size)
        return refuse(buffer);

    size_t capacity = larger(buffer->capacity);
    if (capacity < buffer->size + more)
        capacity = buffer->size + more;
    uint8_t *data =
        talloc_realloc(buffer->owner, buffer->data, uint8_t, capacity);
    if (data == NULL)
        return refuse(buffer);
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

bool kx_slice_copy(const void *mem, struct kx_slice bytes,
                   struct kx_slice *copy_out)
{
    void *data = NULL;
    if (bytes.size > 0)
        data = talloc_memdup(mem, bytes.data, bytes.size);
    *copy_out = kx_slice(data, data == NULL ? 0 : bytes.size);
    return copy_out->size == bytes.size;
}

void kx_buffer_fit(struct kx_buffer *buffer)
{
    if (buffer->size == 0)
        return;
    uint8_t *data =
        talloc_realloc(buffer->owner, buffer->data, uint8_t, buffer->size);
    if (data == NULL)
        return;
    buffer->data = data;
    buffer->capacity = buffer->size;
}

void kx_buffer_free(struct kx_buffer *buffer)
{
    talloc_free(buffer->data);
    kx_buffer_init(buffer, buffer->owner);
}
