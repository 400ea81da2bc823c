/* Both kinds of rows, to bytes and back. */
#include "catalog/retry_rows.h"

#define ROWS "retry/"
#define DUE "retry-due/"
#define DUE_END "retry-due0" /* '0' is the byte after '/' */

enum { TIME_BYTES = 8, DUE_BYTES = sizeof DUE - 1 };

void retry_row_key(struct kx_slice key, struct kx_buffer *out)
{
    kx_add_text(out, ROWS);
    kx_add_slice(out, key);
}

void retry_due_key(int64_t until_ms, struct kx_slice key, struct kx_buffer *out)
{
    uint8_t time[TIME_BYTES];
    for (int i = 0; i < TIME_BYTES; i++)
        time[i] = (uint8_t)((uint64_t)until_ms >> (56 - 8 * i));
    kx_add_text(out, DUE);
    kx_add(out, time, sizeof time);
    kx_add_slice(out, key);
}

void retry_row_write(const struct retry_row *row, struct kx_buffer *out)
{
    uint8_t time[TIME_BYTES];
    for (int i = 0; i < TIME_BYTES; i++)
        time[i] = (uint8_t)((uint64_t)row->until_ms >> (8 * i));
    kx_add(out, time, sizeof time);
    kx_add_slice(out, row->digest);
    kx_add_slice(out, row->outcome);
}

bool retry_row_read(struct kx_slice bytes, struct retry_row *row_out)
{
    enum { HEAD = TIME_BYTES + KX_FINGERPRINT_SIZE };
    uint64_t time = 0;
    if (bytes.size < HEAD)
        return false;
    for (int i = TIME_BYTES; i > 0; i--)
        time = time << 8 | bytes.data[i - 1];
    row_out->until_ms = (int64_t)time;
    row_out->digest = kx_slice(bytes.data + TIME_BYTES, KX_FINGERPRINT_SIZE);
    row_out->outcome = kx_slice(bytes.data + HEAD, bytes.size - HEAD);
    return true;
}

struct kx_slice retry_due_start(void)
{
    return kx_text(DUE);
}

struct kx_slice retry_due_end(void)
{
    return kx_text(DUE_END);
}

bool retry_due_read(struct kx_slice due_key, int64_t *until_ms_out)
{
    enum { HEAD = DUE_BYTES + TIME_BYTES };
    uint64_t time = 0;
    if (due_key.size <= HEAD || !kx_starts_with(due_key, kx_text(DUE)))
        return false;
    for (int i = DUE_BYTES; i < HEAD; i++)
        time = time << 8 | due_key.data[i];
    *until_ms_out = (int64_t)time;
    return true;
}

void retry_due_add(struct kx_slice key, struct kx_buffer *out)
{
    kx_add_byte(out, (uint8_t)key.size);
    kx_add_byte(out, (uint8_t)(key.size >> 8));
    kx_add_slice(out, key);
}

bool retry_due_next(struct kx_slice *left, struct kx_slice *key_out)
{
    size_t size =
        left->size < 2 ? 0 : left->data[0] | (size_t)left->data[1] << 8;
    if (size == 0 || left->size - 2 < size)
        return false;
    *key_out = kx_slice(left->data + 2, size);
    *left = kx_slice(left->data + 2 + size, left->size - 2 - size);
    return true;
}
