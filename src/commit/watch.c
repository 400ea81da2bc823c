/* A hash from each watched key to the watches on it. A change answers the
 * ticket of a watch. If the watch's owner is still busy with an earlier change,
 * the new one is remembered as one bit: any number of changes are one.
 *
 * No change gets lost: it is noted after it can be read. A watch that was read
 * before the change is told afterwards; one that was told reads it. */
#include "commit/watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <talloc.h>

#include "plan/conflict_rows.h"
#include "commit/dirty_keys.h"
#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(topic) ((topic)->lost = true)
#include <uthash.h>

/* A watch's part in a topic. */
struct interest {
    LIST_ENTRY(interest) others;
    struct topic *topic;
    struct kx_watch *watch;
};

LIST_HEAD(interests, interest);

/* A watched key, or a watched prefix after a byte with which no key begins. It
 * is malloc's, because its watches belong to many threads. */
struct topic {
    UT_hash_handle hh;
    struct interests interests;
    bool lost; /* the hash had no memory for it */
    uint8_t key[];
};

struct kx_watch {
    struct watch_set *set;
    LIST_ENTRY(kx_watch) all;
    struct kx_ticket *ticket; /* NULL: the owner does not wait */
    bool told;                /* the ticket will go out with the answers */
    bool changed;             /* since the last wait */
    bool of_prefix;
    struct dirty_keys *dirty; /* of a prefix: which keys, if it collects them;
                               * else NULL */
    size_t count;
    struct interest interests[];
};

/* Most written keys are not watched: for most of them a small table says so,
 * without a search in the topics. It has a counter for each value of 14 bits of
 * a key's hash, with the number of its topics. A counter that was once full
 * stays full. */
enum { PLACES = 1 << 14, PLACE_FULL = UINT8_MAX };

struct watch_set {
    pthread_mutex_t lock;
    uint8_t places[PLACES];
    struct topic *topics;
    LIST_HEAD(, kx_watch) all;
    struct kx_ticket *told; /* to be answered; no longer in a watch */
    atomic_size_t count;    /* of watches */
    size_t prefixes;        /* how many of them are of a prefix */
    size_t dirty_bytes;     /* what those have collected */
};

enum { PREFIX_MARK = 0xff };

static int finish(struct watch_set *set)
{
    return pthread_mutex_destroy(&set->lock);
}

struct watch_set *watch_set_create(void *mem)
{
    struct watch_set *set = talloc_zero(mem, struct watch_set);
    if (set == NULL || pthread_mutex_init(&set->lock, NULL) != 0) {
        talloc_free(set);
        return NULL;
    }
    LIST_INIT(&set->all);
    talloc_set_destructor(set, finish);
    return set;
}

/* ---- Topics, inside the lock -------------------------------------------- */

static uint8_t *place_of(struct watch_set *set, struct kx_slice key)
{
    return &set->places[hash_bytes(key) % PLACES];
}

static struct topic *find_topic(const struct watch_set *set,
                                struct kx_slice key)
{
    struct topic *topic = NULL;
    HASH_FIND(hh, set->topics, key.data, (unsigned)key.size, topic);
    return topic;
}

static struct topic *add_topic(struct watch_set *set, struct kx_slice key)
{
    struct topic *topic = malloc(sizeof *topic + key.size);
    if (topic == NULL)
        return NULL;
    topic->lost = false;
    LIST_INIT(&topic->interests);
    memcpy(topic->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, set->topics, topic->key, (unsigned)key.size, topic);
    if (topic->lost) {
        free(topic);
        return NULL;
    }
    uint8_t *place = place_of(set, key);
    if (*place != PLACE_FULL)
        ++*place;
    return topic;
}

static bool join(struct watch_set *set, struct kx_watch *watch,
                 struct kx_slice key)
{
    struct topic *topic = find_topic(set, key);
    if (topic == NULL)
        topic = add_topic(set, key);
    if (topic == NULL)
        return false;
    struct interest *interest = &watch->interests[watch->count++];
    *interest = (struct interest){.topic = topic, .watch = watch};
    LIST_INSERT_HEAD(&topic->interests, interest, others);
    return true;
}

static void leave(struct watch_set *set, struct interest *interest)
{
    struct topic *topic = interest->topic;
    LIST_REMOVE(interest, others);
    if (!LIST_EMPTY(&topic->interests))
        return;
    uint8_t *place =
        place_of(set, kx_slice(topic->key, (size_t)topic->hh.keylen));
    if (*place != PLACE_FULL)
        --*place;
    HASH_DEL(set->topics, topic); /* NOLINT: it is in the table */
    free(topic);
}

/* A second change before the ticket has gone out is part of the first. */
static void tell(struct kx_watch *watch)
{
    struct watch_set *set = watch->set;
    struct kx_ticket *ticket = watch->ticket;
    watch->changed = ticket == NULL && !watch->told;
    if (ticket == NULL)
        return;
    watch->told = true;
    watch->ticket = NULL;
    ticket->next = set->told;
    set->told = ticket;
}

/* ---- For the writer ----------------------------------------------------- */

/* A watch that is opened during this test reads the applied state: it enters
 * its view later. */
static bool is_unused(const struct watch_set *set)
{
    return atomic_load_explicit(&set->count, memory_order_acquire) == 0;
}

static const struct topic *topic_of(struct watch_set *set, struct kx_slice key)
{
    return *place_of(set, key) != 0 ? find_topic(set, key) : NULL;
}

static void note_key(struct watch_set *set, struct kx_slice key)
{
    const struct topic *topic = topic_of(set, key);
    struct interest *interest;
    if (topic != NULL)
        LIST_FOREACH(interest, &topic->interests, others)
            tell(interest->watch);
}

static void note_under(const struct topic *topic, struct kx_slice key)
{
    struct interest *interest;
    LIST_FOREACH(interest, &topic->interests, others) {
        if (interest->watch->dirty != NULL)
            dirty_keys_add(interest->watch->dirty, key);
        tell(interest->watch);
    }
}

/* Notes the key under each prefix that has fewer parts. No key that a client
 * can see has more than KX_KEY_MAX bytes. */
static void note_prefixes(struct watch_set *set, struct kx_slice key)
{
    uint8_t marked[1 + KX_KEY_MAX];
    size_t part = 1;
    marked[0] = PREFIX_MARK;
    memcpy(marked + 1, key.data, key.size);
    for (size_t size = 0; size < key.size && part > 0; size += part) {
        const struct topic *topic = topic_of(set, kx_slice(marked, 1 + size));
        if (topic != NULL)
            note_under(topic, key);
        part = kx_part_size(kx_slice(key.data + size, key.size - size));
    }
}

void watch_note(struct watch_set *set, const struct row_write *rows,
                size_t count)
{
    if (is_unused(set))
        return;
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].table != TABLE_ENTRIES || conflict_rows_match(rows[i].key))
            continue;
        note_key(set, rows[i].key);
        if (set->prefixes > 0)
            note_prefixes(set, rows[i].key);
    }
    pthread_mutex_unlock(&set->lock);
}

void watch_note_all(struct watch_set *set)
{
    struct kx_watch *watch;
    pthread_mutex_lock(&set->lock);
    LIST_FOREACH(watch, &set->all, all) {
        if (watch->dirty != NULL)
            dirty_keys_lose(watch->dirty);
        tell(watch);
    }
    pthread_mutex_unlock(&set->lock);
}

struct kx_ticket *watch_take(struct watch_set *set, struct kx_ticket *list)
{
    if (is_unused(set))
        return list;
    pthread_mutex_lock(&set->lock);
    while (set->told != NULL) {
        struct kx_ticket *ticket = set->told;
        set->told = ticket->next;
        ticket->watch->told = false;
        ticket->next = list;
        list = ticket;
    }
    pthread_mutex_unlock(&set->lock);
    return list;
}

size_t watch_count(const struct watch_set *set)
{
    return atomic_load(&set->count);
}

/* ---- For waiting callers ------------------------------------------------ */

static int forget(struct kx_watch *watch)
{
    struct watch_set *set = watch->set;
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < watch->count; i++)
        leave(set, &watch->interests[i]);
    LIST_REMOVE(watch, all);
    set->prefixes -= watch->of_prefix;
    atomic_fetch_sub_explicit(&set->count, 1, memory_order_release);
    dirty_keys_free(watch->dirty);
    pthread_mutex_unlock(&set->lock);
    return 0;
}

static bool join_all(struct watch_set *set, struct kx_watch *watch,
                     const struct kx_slice *keys, size_t count)
{
    bool joined = true;
    pthread_mutex_lock(&set->lock);
    LIST_INSERT_HEAD(&set->all, watch, all);
    set->prefixes += watch->of_prefix;
    atomic_fetch_add_explicit(&set->count, 1, memory_order_seq_cst);
    for (size_t i = 0; joined && i < count; i++)
        joined = join(set, watch, keys[i]);
    pthread_mutex_unlock(&set->lock);
    return joined;
}

static struct kx_watch *create(struct watch_set *set, size_t count,
                               const void *memory)
{
    struct kx_watch *watch = talloc_zero_size(
        memory, sizeof *watch + count * sizeof *watch->interests);
    if (watch != NULL) {
        talloc_set_name_const(watch, "struct kx_watch");
        watch->set = set;
    }
    return watch;
}

static enum kx_status start(struct kx_watch *watch, const struct kx_slice *keys,
                            size_t count, struct kx_watch **watch_out)
{
    talloc_set_destructor(watch, forget);
    if (join_all(watch->set, watch, keys, count)) {
        *watch_out = watch;
        return KX_OK;
    }
    talloc_free(watch);
    return KX_NO_MEMORY;
}

enum kx_status watch_open(struct watch_set *set, const struct kx_slice *keys,
                          size_t count, const void *memory,
                          struct kx_watch **watch_out)
{
    struct kx_watch *watch = create(set, count, memory);
    if (watch == NULL)
        return KX_NO_MEMORY;
    return start(watch, keys, count, watch_out);
}

enum kx_status watch_open_prefix(struct watch_set *set, struct kx_slice prefix,
                                 bool collects, const void *memory,
                                 struct kx_watch **watch_out)
{
    uint8_t marked[1 + KX_KEY_MAX];
    struct kx_slice topic;
    struct kx_watch *watch = create(set, 1, memory);
    if (watch == NULL)
        return KX_NO_MEMORY;
    watch->of_prefix = true;
    if (collects)
        watch->dirty = dirty_keys_create(&watch->set->dirty_bytes);
    if (collects && watch->dirty == NULL) {
        talloc_free(watch);
        return KX_NO_MEMORY;
    }
    marked[0] = PREFIX_MARK;
    if (prefix.size > 0)
        memcpy(marked + 1, prefix.data, prefix.size);
    topic = kx_slice(marked, 1 + prefix.size);
    return start(watch, &topic, 1, watch_out);
}

bool kx_watch_take(struct kx_watch *watch, struct kx_slice *keys,
                   size_t *count_out, struct kx_buffer *bytes)
{
    pthread_mutex_lock(&watch->set->lock);
    bool whole = dirty_keys_take(watch->dirty, keys, count_out, bytes);
    pthread_mutex_unlock(&watch->set->lock);
    return whole;
}

void kx_watch_close(struct kx_watch *watch)
{
    talloc_free(watch);
}

enum kx_status kx_watch_wait(struct kx_watch *watch, struct kx_ticket *ticket)
{
    enum kx_status status = KX_END;
    pthread_mutex_lock(&watch->set->lock);
    if (!watch->changed) {
        ticket->watch = watch;
        watch->ticket = ticket;
        status = KX_OK;
    }
    watch->changed = false;
    pthread_mutex_unlock(&watch->set->lock);
    return status;
}

bool watch_cancel(struct watch_set *set, struct kx_ticket *ticket)
{
    struct kx_watch *watch = ticket->watch;
    pthread_mutex_lock(&set->lock);
    bool waits = watch->ticket == ticket;
    if (waits)
        watch->ticket = NULL;
    pthread_mutex_unlock(&set->lock);
    return waits;
}
