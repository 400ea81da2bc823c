/* A hash of buckets with a few places each, in shards with a lock each. A full
 * bucket gives up an entry that was not used since it last looked; a full shard
 * gives up such entries bucket by bucket.
 *
 * It is never stale. It is filled inside a view or by the writer, so that no
 * batch is applied between the reading of the table and the filling. What a
 * batch changes is replaced here before views of it can open. Absence is never
 * stored, so rows that are only added need no call. Any record may be dropped
 * at any time, for example without memory. */
#include "engine/record_cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <talloc.h>

#include "base/hash.h"

enum {
    SHARDS = 16,
    WAYS = 6, /* with their tags one line of the processor's cache */
    LINE = 64,
    RECORD_MAX = 4096,      /* larger records are not kept */
    ENTRY_BYTES_GUESS = 256 /* to choose the number of buckets */
};

/* One block of memory for each: the key's bytes, then the record's. */
struct cached {
    uint32_t key_size;
    uint32_t record_size;
    bool used; /* since the bucket or the hand last passed */
    uint8_t bytes[];
};

/* A look-up that misses the processor's caches waits for the bucket and for the
 * entry, so a bucket is one line, and buckets lie in huge pages. */
struct bucket {
    uint16_t tags[WAYS]; /* of the hash; 0: the place is free */
    struct cached *entries[WAYS];
};
static_assert(sizeof(struct bucket) == LINE, "a bucket is one line");

struct shard {
    pthread_mutex_t lock;
    struct bucket *buckets;
    size_t mask;
    size_t bytes;
    size_t limit;
    size_t hand; /* bucket to take entries from next */
    uint64_t hits;
    uint64_t misses;
};

struct record_cache {
    struct shard shards[SHARDS];
    struct bucket *buckets; /* of all shards */
    size_t size;            /* of them in bytes */
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

/* What an entry takes, with about what malloc adds. */
static size_t cost(size_t key_size, size_t record_size)
{
    return sizeof(struct cached) + key_size + record_size + 16;
}

static bool is_for(const struct cached *entry, struct kx_slice key)
{
    return entry->key_size == key.size &&
           memcmp(entry->bytes, key.data, key.size) == 0;
}

/* The number of the key's place in its bucket, WAYS when it is not there. */
static int find_way(const struct cache_place *place, struct kx_slice key)
{
    const struct bucket *bucket = place->bucket;
    for (int way = 0; way < WAYS; way++)
        if (bucket->tags[way] == place->tag &&
            is_for(bucket->entries[way], key))
            return way;
    return WAYS;
}

static void drop(struct shard *shard, struct bucket *bucket, int way)
{
    struct cached *entry = bucket->entries[way];
    shard->bytes -= cost(entry->key_size, entry->record_size);
    free(entry);
    bucket->tags[way] = 0;
    bucket->entries[way] = NULL;
}

/* Returns a free place; drops an entry if the bucket is full. Entries that were
 * used get a second chance: their marks are cleared, and next time they may be
 * dropped. */
static int make_way(struct shard *shard, struct bucket *bucket)
{
    for (int way = 0; way < WAYS; way++)
        if (bucket->tags[way] == 0)
            return way;
    int victim = 0;
    for (int way = WAYS - 1; way >= 0; way--) {
        if (!bucket->entries[way]->used)
            victim = way;
        bucket->entries[way]->used = false;
    }
    drop(shard, bucket, victim);
    return victim;
}

/* Ends after two rounds through the buckets at most: the first clears the
 * marks, the second finds none. */
static void make_room(struct shard *shard)
{
    while (shard->bytes > shard->limit) {
        struct bucket *bucket = &shard->buckets[shard->hand++ & shard->mask];
        for (int way = 0; way < WAYS; way++) {
            if (bucket->tags[way] == 0)
                continue;
            if (bucket->entries[way]->used)
                bucket->entries[way]->used = false;
            else
                drop(shard, bucket, way);
        }
    }
}

/* Inside the lock, for a key that is not in the bucket. Without memory it is
 * not stored. */
static void remember(const struct cache_place *place, struct kx_slice key,
                     struct kx_slice record)
{
    size_t size = sizeof(struct cached) + key.size + record.size;
    struct cached *entry = malloc(size);
    if (entry == NULL)
        return;
    entry->key_size = (uint32_t)key.size;
    entry->record_size = (uint32_t)record.size;
    entry->used = false;
    memcpy(entry->bytes, key.data, key.size);
    memcpy(entry->bytes + key.size, record.data, record.size);
    int way = make_way(place->shard, place->bucket);
    place->bucket->tags[way] = place->tag;
    place->bucket->entries[way] = entry;
    place->shard->bytes += cost(key.size, record.size);
    make_room(place->shard);
}

/* False when there is no memory for the copy: a miss, then. */
static bool copy(const struct cached *entry, struct kx_buffer *record)
{
    kx_buffer_clear(record);
    kx_add(record, entry->bytes + entry->key_size, entry->record_size);
    return record->size == entry->record_size;
}

bool record_cache_get(struct record_cache *cache, struct kx_slice key,
                      struct kx_buffer *record)
{
    struct cache_place place = find_place(cache, key);
    pthread_mutex_lock(&place.shard->lock);
    int way = find_way(&place, key);
    bool hit = way < WAYS && copy(place.bucket->entries[way], record);
    if (hit) {
        place.bucket->entries[way]->used = true;
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

/* Two threads may have read the same record at once: one of them finds it here
 * already. */
void record_cache_fill(struct record_cache *cache, struct kx_slice key,
                       struct kx_slice record)
{
    if (record.size == 0 || record.size > RECORD_MAX)
        return;
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
    struct cached *entry = place->bucket->entries[way];
    if (entry->record_size == record.size) {
        memcpy(entry->bytes + key.size, record.data, record.size);
        return;
    }
    drop(place->shard, place->bucket, way);
    if (record.size != 0 && record.size <= RECORD_MAX)
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
    else if (keep && record.size != 0 && record.size <= RECORD_MAX)
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

static void finish_shard(struct shard *shard)
{
    for (size_t i = 0; shard->buckets != NULL && i <= shard->mask; i++)
        for (int way = 0; way < WAYS; way++)
            free(shard->buckets[i].entries[way]);
    pthread_mutex_destroy(&shard->lock);
}

static int finish(struct record_cache *cache)
{
    for (int i = 0; i < SHARDS; i++)
        finish_shard(&cache->shards[i]);
    if (cache->buckets != NULL)
        munmap(cache->buckets, cache->size);
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

/* Zeros, which take no memory until they are used. */
static bool make_buckets(struct record_cache *cache, size_t count)
{
    cache->size = SHARDS * count * sizeof(struct bucket);
    void *memory = mmap(NULL, cache->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    cache->buckets = memory;
    (void)madvise(memory, cache->size, MADV_HUGEPAGE);
    return true;
}

struct record_cache *record_cache_create(void *mem, uint64_t bytes)
{
    struct record_cache *cache = talloc_zero(mem, struct record_cache);
    uint64_t limit = bytes / SHARDS;
    size_t count = bucket_count(limit);
    size_t table = count * sizeof(struct bucket);
    if (cache == NULL)
        return NULL;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&cache->shards[i].lock, NULL);
    talloc_set_destructor(cache, finish);
    if (!make_buckets(cache, count)) {
        talloc_free(cache);
        return NULL;
    }
    for (int i = 0; i < SHARDS; i++) {
        cache->shards[i].buckets = cache->buckets + (size_t)i * count;
        cache->shards[i].mask = count - 1;
        cache->shards[i].limit = limit > table ? limit - table : 0;
    }
    return cache;
}
