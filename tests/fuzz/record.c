/* The stored form of an entry: what is read is written again, and read as the
 * same. */
#include "fuzz.h"
#include "entry/record.h"

static void same(const struct record *a, const struct record *b)
{
    assert_int_equal(a->encoding, b->encoding);
    assert_true(a->stamp == b->stamp && a->index == b->index);
    assert_true(a->expires_at_ms == b->expires_at_ms);
    assert_int_equal(a->owner_at, b->owner_at);
    assert_true(a->odd_form == b->odd_form && a->own == b->own);
    assert_true(kx_equal(a->owner, b->owner) && kx_equal(a->other, b->other));
    assert_true(kx_equal(a->media_type, b->media_type));
    assert_true(kx_equal(a->value, b->value));
}

void fuzz(struct kx_slice input, void *memory)
{
    struct record record, again;
    struct kx_buffer bytes;
    bool of_index = record_of_index(input);
    if (!record_read(input, &record) || of_index != (record.index != 0))
        return;
    kx_buffer_init(&bytes, memory);
    record_write(&record, &bytes);
    assert_true(record_read(kx_buffer_slice(&bytes), &again));
    same(&record, &again);
}
