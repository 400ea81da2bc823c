/* Where the runs of a sample begin: the first and the last key are read as long
 * numbers, and the places lie evenly between them. If keys are not spread
 * evenly, places coincide; a run then begins where the previous one ended. */
#include "read/entry_sample.h"

#include <talloc.h>

#include "engine/engine.h"
#include "engine/engine.h"

enum { PLACES = 40, DIGITS = 8 };

struct walk {
    struct writer *writer;
    struct sampling *sample;
    int64_t now_ms;
    struct kx_buffer start; /* of the next run */
    struct kx_buffer end;   /* of the prefix */
    struct kx_buffer first; /* key of the first row, and of the last */
    struct kx_buffer last;
};

static enum kx_status give(struct walk *walk, struct kx_slice key,
                           struct kx_slice bytes)
{
    struct record record;
    struct sampling *sample = walk->sample;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (record.index != 0 || record_expired(&record, walk->now_ms))
        return KX_OK;
    sample->cost += bytes.size;
    return sample->take(sample->context, key, &record);
}

static bool exhausted(const struct walk *walk)
{
    return walk->sample->cost >= ENTRY_SAMPLE_COST_MAX;
}

/* Adds a run of so many rows that ended before `next`. */
static void count_run(struct walk *walk, uint64_t rows, struct kx_slice next)
{
    struct sampling *sample = walk->sample;
    sample->rows += rows;
    sample->share += engine_share(walk->writer->base.view, TABLE_ENTRIES,
                                  kx_buffer_slice(&walk->start), next);
}

/* Takes up to `count` rows from walk->start on, and moves it after the last
 * one. KX_END: the range has ended. */
static enum kx_status take_run(struct walk *walk, size_t count)
{
    struct engine_range *range = walk->writer->base.range;
    struct kx_slice key = kx_slice(NULL, 0);
    struct kx_slice bytes;
    struct kx_buffer next;
    kx_buffer_init(&next, walk->start.owner);
    enum kx_status status = engine_range_begin(
        range, kx_buffer_slice(&walk->start), kx_buffer_slice(&walk->end));
    size_t i = 0;
    for (; status == KX_OK && i < count && !exhausted(walk); i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = give(walk, key, bytes);
    }
    if (status == KX_OK) {
        kx_add_slice(&next, key);
        kx_add_byte(&next, 0);
    }
    engine_range_end(range);
    if (status == KX_OK && !next.failed)
        count_run(walk, i, kx_buffer_slice(&next));
    kx_buffer_free(&walk->start);
    walk->start = next;
    return next.failed ? KX_NO_MEMORY : status;
}

/* Replaces out by the first row's key, or the last's. */
static enum kx_status find_end(struct walk *walk, bool reverse,
                               struct kx_buffer *out)
{
    struct engine_range *range = walk->writer->base.range;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status =
        engine_range_begin_either(range, kx_buffer_slice(&walk->start),
                                  kx_buffer_slice(&walk->end), reverse);
    if (status == KX_OK)
        status = engine_range_next(range, &key, &bytes);
    if (status == KX_OK)
        kx_add_slice(out, key);
    engine_range_end(range);
    return status == KX_OK && out->failed ? KX_NO_MEMORY : status;
}

/* The bytes of a key from `at` on, as a number. */
static uint64_t number_at(const struct kx_buffer *key, size_t at)
{
    uint64_t number = 0;
    for (size_t i = 0; i < DIGITS; i++)
        number = number << 8 | (at + i < key->size ? key->data[at + i] : 0);
    return number;
}

/* Moves walk->start forward to the n-th place, never back. */
static void go_to(struct walk *walk, size_t n)
{
    size_t common = 0;
    while (common < walk->first.size && common < walk->last.size &&
           walk->first.data[common] == walk->last.data[common])
        common++;
    uint64_t from = number_at(&walk->first, common);
    uint64_t to = number_at(&walk->last, common);
    uint64_t place = from + (to - from) / PLACES * n;
    uint8_t key[ROW_KEY_MAX + DIGITS];
    if (common > ROW_KEY_MAX)
        return;
    memcpy(key, walk->first.data, common);
    for (size_t i = 0; i < DIGITS; i++)
        key[common + i] = (uint8_t)(place >> (56 - 8 * i));
    struct kx_slice start = kx_slice(key, common + DIGITS);
    if (kx_compare(start, kx_buffer_slice(&walk->start)) <= 0)
        return;
    walk->start.size = 0;
    kx_add_slice(&walk->start, start);
}

static enum kx_status take_runs(struct walk *walk)
{
    enum kx_status status = find_end(walk, false, &walk->first);
    if (status == KX_OK)
        status = find_end(walk, true, &walk->last);
    for (size_t n = 0; status == KX_OK && n < PLACES && !exhausted(walk); n++) {
        go_to(walk, n);
        status = walk->start.failed ? KX_NO_MEMORY
                                    : take_run(walk, ENTRY_SAMPLE_MAX / PLACES);
    }
    return status;
}

enum kx_status entry_sample_entries(struct writer *writer,
                                    struct sampling *sample)
{
    void *mem = talloc_new(NULL);
    struct walk walk = {
        .writer = writer, .sample = sample, .now_ms = kx_now_ms()};
    if (mem == NULL)
        return KX_NO_MEMORY;
    kx_buffer_init(&walk.start, mem);
    kx_buffer_init(&walk.end, mem);
    kx_buffer_init(&walk.first, mem);
    kx_buffer_init(&walk.last, mem);
    kx_add_slice(&walk.start, sample->prefix);
    kx_add_byte(&walk.start, 0);
    kx_add_slice(&walk.end, sample->prefix);
    kx_add_byte(&walk.end, 0xff);
    bool few = sample->total <= ENTRY_SAMPLE_MAX / 2;
    enum kx_status status = KX_NO_MEMORY;
    if (!walk.start.failed && !walk.end.failed)
        status = few ? take_run(&walk, ENTRY_SAMPLE_MAX) : take_runs(&walk);
    sample->all = few && status == KX_END;
    talloc_free(mem);
    return status == KX_END ? KX_OK : status;
}
