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
    assert_int_equal(a->has_job, b->has_job);
    if (!a->has_job)
        return;
    assert_true(a->job.not_before_ms == b->job.not_before_ms);
    assert_true(a->job.claim == b->job.claim);
    assert_int_equal(a->job.attempts, b->job.attempts);
    assert_true(kx_equal(a->job.error, b->job.error));
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

TEST_WITH(record_reads_jobs, memory_open, memory_close)
{
    for (unsigned form = 0; form < 8; form++) {
        struct record record = {
            .encoding = (form & 1) != 0 ? KX_BYTES : KX_V8,
            .stamp = 0x1234,
            .value = kx_text("value"),
            .has_job = true,
            .job = {.not_before_ms = KX_JOB_DEAD_MS - form,
                    .claim = (form & 4) != 0 ? UINT64_MAX : 0,
                    .attempts = UINT32_MAX - form}};
        if ((form & 1) != 0)
            record.media_type = kx_text("image/png");
        if ((form & 2) != 0)
            record.expires_at_ms = 0x0102030405060708;
        if ((form & 4) != 0)
            record.job.error = kx_text("it failed");
        there_and_back(*state, &record);
    }
}

/* Programs of format 2 wrote these bytes. */
TEST_WITH(record_without_job_has_its_former_bytes, memory_open, memory_close)
{
    static const uint8_t former[] = {0x29, 0x34, 0x12, 1, 0, 0,
                                     0,    0,    0,    0, 0, '7'};
    struct kx_buffer bytes;
    const struct record record = {.encoding = KX_JSON,
                                  .stamp = 0x1234,
                                  .expires_at_ms = 1,
                                  .value = kx_text("7")};
    kx_buffer_init(&bytes, *state);
    record_write(&record, &bytes);
    assert_true(
        kx_equal(kx_buffer_slice(&bytes), kx_slice(former, sizeof former)));
    kx_buffer_free(&bytes);
}
