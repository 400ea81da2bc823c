/* The record cache against what was stored: it may forget, and never errs. */
#include "engine/record_cache.h"
#include "unit.h"

enum {
    CACHE = 2 << 20,
    KEYS = 6000,
    STEPS = 400000,
    LARGE = 4096, /* the largest record that is kept */
    MANY = 100000,
    ASKED = 200
};

static struct kx_slice name(char *text, size_t number)
{
    snprintf(text, 32, "a key with number %zu", number);
    return kx_text(text);
}

/* The record that a key has after so many changes; empty after some. */
static struct kx_slice record_after(uint8_t *bytes, size_t key, size_t changes)
{
    uint64_t seed = key * STEPS + changes;
    uint64_t kind = random_next(&seed) % 64;
    size_t size = kind == 0   ? 0
                  : kind == 1 ? LARGE + 1
                  : kind == 2 ? LARGE
                  : kind < 16 ? 100
                              : 1 + random_below(&seed, 500);
    memset(bytes, (int)(changes % 251), size);
    if (size >= sizeof seed)
        memcpy(bytes, &seed, sizeof seed);
    return kx_slice(bytes, size);
}

/* Returns whether the key was found; with another record than it has, the test
 * fails. */
static bool found(struct record_cache *cache, size_t key, size_t changes,
                  struct kx_buffer *record)
{
    char text[32];
    uint8_t bytes[LARGE + 1];
    struct kx_slice wanted = record_after(bytes, key, changes);
    bool has = record_cache_has(cache, name(text, key));
    assert_int_equal(record_cache_get(cache, name(text, key), record), has);
    if (has && (wanted.size == 0 || record->size != wanted.size ||
                memcmp(record->data, wanted.data, wanted.size) != 0))
        fail_msg("key %zu has not its record number %zu", key, changes);
    return has;
}

/* Changes nothing, and is no look-up. */
static void fetch(struct record_cache *cache, size_t key)
{
    char text[RECORD_PREFETCH_MAX][32];
    struct kx_slice keys[RECORD_PREFETCH_MAX];
    for (size_t i = 0; i < RECORD_PREFETCH_MAX; i++)
        keys[i] = name(text[i], key + i);
    record_cache_prefetch(cache, keys, RECORD_PREFETCH_MAX);
}

TEST_WITH(record_cache_returns_record_stored_last, memory_open, memory_close)
{
    uint64_t seed = random_seed("record_cache");
    struct record_cache *cache = record_cache_create(*state, CACHE);
    size_t *changes = talloc_zero_array(*state, size_t, KEYS);
    struct kx_buffer record;
    size_t hits = 0;
    kx_buffer_init(&record, *state);
    for (size_t step = 0; step < STEPS; step++) {
        char text[32];
        uint8_t bytes[LARGE + 1];
        /* half of the operations are for an eighth of the keys */
        size_t key = random_below(&seed, step % 2 == 0 ? KEYS : KEYS / 8);
        switch (random_below(&seed, 8)) {
        case 0:
            record_cache_update(cache, name(text, key),
                                record_after(bytes, key, ++changes[key]),
                                random_below(&seed, 2) == 0);
            break;
        case 1:
        case 2:
            record_cache_fill(cache, name(text, key),
                              record_after(bytes, key, changes[key]));
            break;
        case 3:
            fetch(cache, key);
            break;
        default:
            hits += found(cache, key, changes[key], &record);
        }
    }
    struct record_cache_stats figures = {0};
    record_cache_stats(cache, &figures);
    assert_int_equal(figures.hits, hits);
    assert_false(record_cache_is_large(cache));
    assert_true(hits > STEPS / 16 && figures.misses > STEPS / 16);
    kx_buffer_free(&record);
    talloc_free(changes);
    talloc_free(cache);
}

/* Stores MANY records, twenty times what the cache holds; asks for the first
 * ones from time to time if `ask`. Returns how many of those are there then. */
static size_t first_ones_left(void *mem, bool ask)
{
    char text[32];
    uint8_t bytes[400] = {0};
    struct record_cache *cache = record_cache_create(mem, CACHE);
    struct kx_buffer record;
    size_t left = 0;
    kx_buffer_init(&record, mem);
    for (size_t key = 0; key < MANY; key++) {
        record_cache_fill(cache, name(text, key),
                          kx_slice(bytes, sizeof bytes));
        for (size_t i = 0; ask && key % 500 == 0 && i < ASKED && i < key; i++)
            record_cache_get(cache, name(text, i), &record);
    }
    for (size_t i = 0; i < ASKED; i++)
        left += record_cache_has(cache, name(text, i));
    kx_buffer_free(&record);
    talloc_free(cache);
    return left;
}

TEST_WITH(record_cache_keeps_requested_records, memory_open, memory_close)
{
    assert_true(first_ones_left(*state, true) >= ASKED * 9 / 10);
    assert_int_equal(first_ones_left(*state, false), 0);
}

TEST_WITH(record_cache_fills_its_size, memory_open, memory_close)
{
    char text[32];
    uint8_t bytes[200] = {0};
    size_t held = 0;
    struct record_cache *cache = record_cache_create(*state, CACHE);
    for (size_t key = 0; key < MANY; key++)
        record_cache_update(cache, name(text, key),
                            kx_slice(bytes, sizeof bytes), true);
    for (size_t key = 0; key < MANY; key++)
        if (record_cache_has(cache, name(text, key)))
            held += sizeof bytes;
    assert_true(held <= CACHE && held > CACHE / 2);
    talloc_free(cache);
    cache = record_cache_create(*state, 64 * CACHE);
    for (size_t key = 0; key < 5 * MANY; key++)
        record_cache_fill(cache, name(text, key),
                          kx_slice(bytes, sizeof bytes));
    assert_true(record_cache_is_large(cache));
    talloc_free(cache);
}

TEST_WITH(record_cache_of_no_memory_holds_nothing, memory_open, memory_close)
{
    struct kx_buffer record;
    struct record_cache *cache = record_cache_create(*state, 0);
    kx_buffer_init(&record, *state);
    record_cache_fill(cache, kx_text("key"), kx_text("record"));
    record_cache_update(cache, kx_text("key"), kx_text("record"), true);
    assert_false(record_cache_get(cache, kx_text("key"), &record));
    kx_buffer_free(&record);
    talloc_free(cache);
}
