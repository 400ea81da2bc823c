/* Shards, each with a lock, a hash table of small buckets, and a ring of
 * entries. A new entry goes to the end of the ring, where it replaces the
 * oldest. An entry that is found in the older half of the ring moves to the
 * end. So recently used entries stay, memory is never fragmented, and all
 * operations take about the same time.
 *
 * The cache is never stale. It is filled inside a view or by the writer, so no
 * batch is applied between reading the table and filling the cache. Records
 * that a batch changes are replaced here before views of the batch can open.
 * Absence is never cached, so rows that are only added need no call. Any record
 * may be dropped at any time. */
#include "engine/record_cache.h"

#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>
#include <talloc.h>

#include "base/hash.h"

enum {
    SHARDS = 16,
    WAYS = 10, /* a bucket's tags and places fill one cache line */
    LINE = 64,
    UNIT = 8,                /* alignment of entries */
    RECORD_MAX = 4096,       /* bytes; larger records are not cached */
    ENTRY_BYTES_GUESS = 160, /* to choose the number of buckets */
    LARGE_RING = 4 << 20,    /* bytes in use per ring */
    HUGE_RING_MIN = 16 << 20 /* bytes; smaller rings lie in small pages */
};

/* An entry in the ring: the bytes of the key, then of the record. */
struct cached {
    uint32_t bucket; /* that refers to the entry, unless it was dropped */
    uint16_t key_size;
    uint16_t record_size; /* 0: nothing from here to the end of the ring */
    uint8_t bytes[];
};
static_assert(sizeof(struct cached) == UNIT, "what is left of a ring has room");

/* A look-up that misses the processor's caches waits for the bucket and for the
 * entry. So a bucket is one cache line, and both lie in huge pages. */
struct bucket {
    uint16_t tags[WAYS];   /* part of the hash; 0: the place is free */
    uint32_t places[WAYS]; /* of the entries in the ring, in UNITs */
    uint32_t unused;
};
static_assert(sizeof(struct bucket) == LINE, "a bucket is one line");

struct shard {
    pthread_mutex_t lock;
    struct bucket *buckets;
    size_t mask;
    uint8_t *ring;
    size_t size; /* of the ring in bytes */
    size_t end;  /* offset at which the next entry is stored */
    size_t used; /* bytes of entries before `end` */
    uint64_t hits;
    uint64_t misses;
};

struct record_cache {
    struct shard shards[SHARDS];
    uint8_t *memory; /* the buckets of all shards, then their rings */
    size_t size;     /* of `memory` in bytes */
};

/* Where a key may be cached. The low bits of the hash choose the shard, the
 * next bits the bucket; the high bits are the tag, compared before the key. */
struct cache_place {
    struct shard *shard;
    struct bucket *bucket;
    uint16_t tag;
};

/* A client could choose keys that all fall into one bucket. The cache is then
 * useless for these keys, and only for them, because a bucket never grows. */
static struct cache_place find_place(struct record_cache *cache,
                                     struct kx_slice key)
{
    uint64_t hash = hash_bytes(key);
    struct cache_place place = {.shard = &cache->shards[hash % SHARDS]};
    place.bucket = &place.shard->buckets[(hash >> 4) & place.shard->mask];
    place.tag = (uint16_t)(hash >> 48) | 1;
    return place;
}

static struct cached *entry_at(const struct shard *shard, size_t at)
{
    return (struct cached *)(void *)(shard->ring + at);
}

static struct cached *entry_of(const struct cache_place *place, int way)
{
    return entry_at(place->shard, (size_t)place->bucket->places[way] * UNIT);
}

/* The bytes of the ring that an entry takes. */
static size_t entry_size(size_t key_size, size_t record_size)
{
    size_t bytes = sizeof(struct cached) + key_size + record_size;
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static bool is_for(const struct cached *entry, struct kx_slice key)
{
    return entry->key_size == key.size &&
           memcmp(entry->bytes, key.data, key.size) == 0;
}

/* The index of the key in its bucket; WAYS if the key is not there. */
static int find_way(const struct cache_place *place, struct kx_slice key)
{
    for (int way = 0; way < WAYS; way++)
        if (place->bucket->tags[way] == place->tag &&
            is_for(entry_of(place, way), key))
            return way;
    return WAYS;
}

/* The bytes stored since the entry at `at`, including that entry. */
static size_t age(const struct shard *shard, size_t at)
{
    return at < shard->end ? shard->end - at : shard->end + shard->size - at;
}

/* Frees the oldest entry, or the unused bytes at the end of the ring. */
static void drop_oldest(struct shard *shard)
{
    size_t at = shard->end < shard->used
                    ? shard->end + shard->size - shard->used
                    : shard->end - shard->used;
    const struct cached *entry = entry_at(shard, at);
    if (entry->record_size == 0) {
        shard->used -= shard->size - at;
        return;
    }
    struct bucket *bucket = &shard->buckets[entry->bucket];
    for (int way = 0; way < WAYS; way++)
        if (bucket->places[way] == at / UNIT)
            bucket->tags[way] = 0;
    shard->used -= entry_size(entry->key_size, entry->record_size);
}

/* Makes room for `size` contiguous bytes at the end of the ring, and returns
 * their offset. */
static size_t take(struct shard *shard, size_t size)
{
    size_t left = shard->size - shard->end;
    size_t needed = left < size ? left + size : size;
    while (shard->size - shard->used < needed)
        drop_oldest(shard);
    if (left < size) {
        *entry_at(shard, shard->end) = (struct cached){0};
        shard->end = 0;
    }
    size_t at = shard->end;
    shard->used += needed;
    shard->end = at + size == shard->size ? 0 : at + size;
    return at;
}

/* Returns a free index of the bucket; that of its oldest entry if it is full.
 */
static int make_way(const struct cache_place *place)
{
    const struct bucket *bucket = place->bucket;
    int oldest = 0;
    for (int way = 0; way < WAYS; way++) {
        if (bucket->tags[way] == 0)
            return way;
        if (age(place->shard, (size_t)bucket->places[way] * UNIT) >
            age(place->shard, (size_t)bucket->places[oldest] * UNIT))
            oldest = way;
    }
    return oldest;
}

/* Returns whether the cache may hold the record: present and not too large. */
static bool is_kept(const struct shard *shard, struct kx_slice key,
                    struct kx_slice record)
{
    return record.size > 0 && record.size <= RECORD_MAX &&
           key.size <= KX_KEY_MAX &&
           entry_size(key.size, record.size) <= shard->size / 2;
}

/* Adds a key that is not in its bucket. The caller holds the lock. */
static void remember(const struct cache_place *place, struct kx_slice key,
                     struct kx_slice record)
{
    struct shard *shard = place->shard;
    struct bucket *bucket = place->bucket;
    if (!is_kept(shard, key, record))
        return;
    size_t at = take(shard, entry_size(key.size, record.size));
    struct cached *entry = entry_at(shard, at);
    entry->bucket = (uint32_t)(bucket - shard->buckets);
    entry->key_size = (uint16_t)key.size;
    entry->record_size = (uint16_t)record.size;
    memcpy(entry->bytes, key.data, key.size);
    memcpy(entry->bytes + key.size, record.data, record.size);
    int way = make_way(place);
    bucket->tags[way] = place->tag;
    bucket->places[way] = (uint32_t)(at / UNIT);
}

/* False if memory for the copy ran out, which counts as a miss. */
static bool copy(const struct cached *entry, struct kx_buffer *record)
{
    kx_buffer_clear(record);
    kx_add(record, entry->bytes + entry->key_size, entry->record_size);
    return record->size == entry->record_size;
}

/* After a hit: moves an entry of the older half to the end of the ring. */
static void renew(const struct cache_place *place, int way, struct kx_slice key,
                  const struct kx_buffer *record)
{
    size_t at = (size_t)place->bucket->places[way] * UNIT;
    if (age(place->shard, at) <= place->shard->size / 2)
        return;
    place->bucket->tags[way] = 0;
    remember(place, key, kx_buffer_slice(record));
}

bool record_cache_get(struct record_cache *cache, struct kx_slice key,
                      struct kx_buffer *record)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    int way = find_way(&place, key);
    bool hit = way < WAYS && copy(entry_of(&place, way), record);
    if (hit) {
        renew(&place, way, key, record);
        place.shard->hits++;
    } else {
        place.shard->misses++;
    }
    pthread_mutex_unlock(&place.shard->lock);
    return hit;
}

bool record_cache_has(struct record_cache *cache, struct kx_slice key)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    bool has = find_way(&place, key) < WAYS;
    pthread_mutex_unlock(&place.shard->lock);
    return has;
}

/* One shard is representative: all shards fill alike. */
bool record_cache_is_large(struct record_cache *cache)
{
    pthread_mutex_lock(&cache->shards[0].lock);
    bool large = cache->shards[0].used >= LARGE_RING;
    pthread_mutex_unlock(&cache->shards[0].lock);
    return large;
}

/* Fetches the lines of an entry with the right tag, without reading them. */
static void fetch_entry(const struct cache_place *place)
{
    enum { LINES = 4 };
    pthread_mutex_lock(&place->shard->lock);
    for (int way = 0; way < WAYS; way++)
        if (place->bucket->tags[way] == place->tag)
            for (int line = 0; line < LINES; line++)
                __builtin_prefetch((const uint8_t *)entry_of(place, way) +
                                   (size_t)line * LINE);
    pthread_mutex_unlock(&place->shard->lock);
}

/* Fetches the buckets of all keys before it looks at the first. */
void record_cache_prefetch(struct record_cache *cache,
                           const struct kx_slice *keys, size_t count)
{
    struct cache_place places[RECORD_PREFETCH_MAX];
    for (size_t i = 0; i < count; i++) {
        places[i] = find_place(cache, keys[i]);
        __builtin_prefetch(places[i].bucket);
    }
    for (size_t i = 0; i < count; i++)
        fetch_entry(&places[i]);
}

/* Two threads may have read the same record at once; the second finds it
 * already cached. */
void record_cache_fill(struct record_cache *cache, struct kx_slice key,
                       struct kx_slice record)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    if (find_way(&place, key) == WAYS)
        remember(&place, key, record);
    pthread_mutex_unlock(&place.shard->lock);
}

/* Replaces or drops the entry at `way`. The caller holds the lock. */
static void replace(const struct cache_place *place, int way,
                    struct kx_slice key, struct kx_slice record)
{
    struct cached *entry = entry_of(place, way);
    if (entry->record_size == record.size) {
        memcpy(entry->bytes + key.size, record.data, record.size);
        return;
    }
    place->bucket->tags[way] = 0;
    remember(place, key, record);
}

void record_cache_update(struct record_cache *cache, struct kx_slice key,
                         struct kx_slice record, bool keep)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    int way = find_way(&place, key);
    if (way < WAYS)
        replace(&place, way, key, record);
    else if (keep)
        remember(&place, key, record);
    pthread_mutex_unlock(&place.shard->lock);
}

void record_cache_stats(struct record_cache *cache,
                        struct record_cache_stats *stats_out)
{
    *stats_out = (struct record_cache_stats){0};
    for (int i = 0; i < SHARDS; i++) {
        struct shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->lock);
        stats_out->hits += shard->hits;
        stats_out->misses += shard->misses;
        pthread_mutex_unlock(&shard->lock);
    }
}

static int finish(struct record_cache *cache)
{
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&cache->shards[i].lock);
    if (cache->memory != NULL)
        munmap(cache->memory, cache->size);
    return 0;
}

/* The number of buckets of a shard, a power of two. */
static size_t bucket_count(uint64_t bytes)
{
    size_t count = 1;
    while (count * WAYS * ENTRY_BYTES_GUESS < bytes)
        count *= 2;
    return count;
}

/* Maps zeroed memory, which takes no memory until it is used. Huge pages are
 * only for large rings: the first entry of each ring would touch one, 32 MiB in
 * all. */
static bool map_memory(struct record_cache *cache, size_t buckets, size_t rings)
{
    cache->size = buckets + rings;
    void *memory = mmap(NULL, cache->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    cache->memory = memory;
    bool huge = rings / SHARDS >= HUGE_RING_MIN;
    (void)madvise(memory, huge ? cache->size : buckets, MADV_HUGEPAGE);
    return true;
}

struct record_cache *record_cache_create(void *mem, uint64_t bytes)
{
    struct record_cache *cache = talloc_zero(mem, struct record_cache);
    uint64_t limit = bytes / SHARDS;
    size_t count = bucket_count(limit);
    size_t table = count * sizeof(struct bucket);
    size_t ring = limit > table ? (limit - table) / UNIT * UNIT : 0;
    if (cache == NULL)
        return NULL;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&cache->shards[i].lock, NULL);
    talloc_set_destructor(cache, finish);
    if (!map_memory(cache, SHARDS * table, SHARDS * ring)) {
        talloc_free(cache);
        return NULL;
    }
    uint8_t *rings = cache->memory + SHARDS * table;
    for (int i = 0; i < SHARDS; i++) {
        struct shard *shard = &cache->shards[i];
        shard->buckets = (struct bucket *)(void *)(cache->memory + i * table);
        shard->mask = count - 1;
        shard->ring = rings + i * ring;
        shard->size = ring;
    }
    return cache;
}
