/* The stored form of an entry is read as it was written, however short it is:
 * each size of its numbers, and what follows them. */
#include "entry/record.h"
#include "unit.h"

static void assert_same(const struct record *a, const struct record *b)
{
    assert_int_equal(a->encoding, b->encoding);
    assert_true(a->stamp == b->stamp && a->expires_at_ms == b->expires_at_ms);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->owner_at, b->owner_at);
    assert_true(kx_equal(a->owner, b->owner) && kx_equal(a->value, b->value));
    assert_true(kx_equal(a->media_type, b->media_type));
}

/* In memory of just its size, which sanitizers watch; nor can any part of it be
 * read as the whole. */
static void there_and_back(void *mem, const struct record *record)
{
    struct kx_buffer bytes;
    struct record again;
    kx_buffer_init(&bytes, mem);
    record_write(record, &bytes);
    uint8_t *whole = malloc(bytes.size);
    assert_non_null(whole);
    memcpy(whole, bytes.data, bytes.size);
    assert_true(record_read(kx_slice(whole, bytes.size), &again));
    assert_same(record, &again);
    free(whole);
    for (size_t size = 0; size < bytes.size - record->value.size; size++) {
        uint8_t *part = malloc(size + 1);
        assert_non_null(part);
        memcpy(part + 1, bytes.data, size);
        assert_false(record_read(kx_slice(part + 1, size), &again));
        free(part);
    }
    kx_buffer_free(&bytes);
}

TEST_WITH(record_reads_stamps_of_any_size, memory_open, memory_close)
{
    enum { VALUES = 10 };
    static const uint8_t value[VALUES] = "0123456789";
    for (unsigned bits = 0; bits < 64; bits += 8)
        for (size_t size = 0; size <= VALUES; size++)
            for (unsigned form = 0; form < 8; form++) {
                struct record record = {.encoding = (form & 4) != 0 ? KX_BYTES
                                                                    : KX_JSON,
                                        .stamp = UINT64_C(0xa5) << bits | bits,
                                        .value = kx_slice(value, size)};
                if ((form & 1) != 0)
                    record.expires_at_ms = 0x0102030405060708;
                if ((form & 2) != 0) {
                    record.index = 0x89abcdef;
                    record.owner_at = (uint16_t)(size % 2 * 0x123);
                    if (record.owner_at == 0)
                        record.owner = kx_slice(value, size);
                }
                if ((form & 4) != 0)
                    record.media_type = kx_slice(value, size / 2);
                there_and_back(*state, &record);
            }
}
