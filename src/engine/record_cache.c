/* A hash of buckets with a few places each, and a ring of entries, in shards
 * with a lock each. A new entry is stored at the end of the ring, where it
 * replaces the oldest; one that is found in the older half is stored at the end
 * again. So what is asked for stays, memory is never fragmented, and each
 * operation takes about as long as any other.
 *
 * It is never stale. It is filled inside a view or by the writer, so that no
 * batch is applied between the reading of the table and the filling. What a
 * batch changes is replaced here before views of it can open. Absence is never
 * stored, so rows that are only added need no call. Any record may be dropped
 * at any time. */
#include "engine/record_cache.h"

#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>
#include <talloc.h>

#include "base/hash.h"

enum {
    SHARDS = 16,
    WAYS = 10, /* with their tags one line of the processor's cache */
    LINE = 64,
    UNIT = 8,                /* an entry begins at a multiple of it */
    RECORD_MAX = 4096,       /* larger records are not kept */
    ENTRY_BYTES_GUESS = 160, /* to choose the number of buckets */
    LARGE_RING = 4 << 20,    /* in use, of each of them */
    HUGE_RING_MIN = 16 << 20 /* smaller rings lie in small pages */
};

/* In the ring: the key's bytes, then the record's. */
struct cached {
    uint32_t bucket; /* that refers to it, unless it was dropped */
    uint16_t key_size;
    uint16_t record_size; /* 0: nothing from here to where the ring ends */
    uint8_t bytes[];
};
static_assert(sizeof(struct cached) == UNIT, "what is left of a ring has room");

/* A look-up that misses the processor's caches waits for the bucket and for the
 * entry, so a bucket is one line, and both lie in huge pages. */
struct bucket {
    uint16_t tags[WAYS];   /* of the hash; 0: the place is free */
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
    size_t end;  /* where the next entry is stored, in bytes */
    size_t used; /* bytes before the end that entries take */
    uint64_t hits;
    uint64_t misses;
};

struct record_cache {
    struct shard shards[SHARDS];
    uint8_t *memory; /* the buckets of all shards, then their rings */
    size_t size;     /* of it in bytes */
};

/* Where a key may be. The low bits of its hash choose the shard, the next ones
 * the bucket, the high ones are the tag, which is compared before the key. */
struct cache_place {
    struct shard *shard;
    struct bucket *bucket;
    uint16_t tag;
};

/* Chosen keys could fill one bucket, which only makes the cache useless for
 * them, as a bucket never grows. */
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

/* What an entry takes of the ring. */
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

/* The number of the key's place in its bucket, WAYS when it is not there. */
static int find_way(const struct cache_place *place, struct kx_slice key)
{
    for (int way = 0; way < WAYS; way++)
        if (place->bucket->tags[way] == place->tag &&
            is_for(entry_of(place, way), key))
            return way;
    return WAYS;
}

/* How many bytes of entries were stored since the one at `at`, with itself. */
static size_t age(const struct shard *shard, size_t at)
{
    return at < shard->end ? shard->end - at : shard->end + shard->size - at;
}

/* Frees the bytes of the oldest entry, or those unused where the ring ends. */
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

/* Returns where an entry of `size` bytes is to be stored: at the end of the
 * ring, in one piece. */
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

/* A free place of the bucket; that of its oldest entry if it is full. */
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

/* Absence and what is large are not. */
static bool is_kept(const struct shard *shard, struct kx_slice key,
                    struct kx_slice record)
{
    return record.size > 0 && record.size <= RECORD_MAX &&
           key.size <= KX_KEY_MAX &&
           entry_size(key.size, record.size) <= shard->size / 2;
}

/* Inside the lock, for a key that is not in the bucket. */
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

/* False when there is no memory for the copy: a miss, then. */
static bool copy(const struct cached *entry, struct kx_buffer *record)
{
    kx_buffer_clear(record);
    kx_add(record, entry->bytes + entry->key_size, entry->record_size);
    return record->size == entry->record_size;
}

/* After a hit: an entry of the older half is stored at the end again. */
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

/* All shards are filled alike. */
bool record_cache_is_large(struct record_cache *cache)
{
    pthread_mutex_lock(&cache->shards[0].lock);
    bool large = cache->shards[0].used >= LARGE_RING;
    pthread_mutex_unlock(&cache->shards[0].lock);
    return large;
}

/* The lines of an entry whose tag is right; its bytes are not read here. */
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

/* The buckets of all keys are on their way before the first is looked at. */
void record_cache_prefetch(struct record_cache *cache,
                           const struct kx_slice *keys, size_t count)
{
    struct cache_place places[RECORDS_AHEAD];
    for (size_t i = 0; i < count; i++) {
        places[i] = find_place(cache, keys[i]);
        __builtin_prefetch(places[i].bucket);
    }
    for (size_t i = 0; i < count; i++)
        fetch_entry(&places[i]);
}

/* Two threads may have read the same record at once: one of them finds it here
 * already. */
void record_cache_fill(struct record_cache *cache, struct kx_slice key,
                       struct kx_slice record)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    if (find_way(&place, key) == WAYS)
        remember(&place, key, record);
    pthread_mutex_unlock(&place.shard->lock);
}

/* Inside the lock: the entry at `way` gets another record, or is dropped. */
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

void record_cache_figures(struct record_cache *cache,
                          struct record_cache_figures *figures_out)
{
    *figures_out = (struct record_cache_figures){0};
    for (int i = 0; i < SHARDS; i++) {
        struct shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->lock);
        figures_out->hits += shard->hits;
        figures_out->misses += shard->misses;
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

/* The buckets of a shard: a power of two. */
static size_t bucket_count(uint64_t bytes)
{
    size_t count = 1;
    while (count * WAYS * ENTRY_BYTES_GUESS < bytes)
        count *= 2;
    return count;
}

/* Zeros, which take no memory until they are used. The first entry of each ring
 * would make a huge page of it, 32 MiB in all: not for a small cache. */
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
