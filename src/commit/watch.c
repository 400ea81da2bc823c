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

#include "base/hash.h"
#include "entry/record.h"
#include "plan/conflict_rows.h"
#include "schema/extract.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((element)->lost = true)
#include <uthash.h>

/* ---- Changed keys that a watch of a prefix collects ----------------------
 *
 * Each key once, in order of arrival. Bounded: when there are too many, the set
 * drops all of them and only says that anything may have changed. The lock of
 * the watch set guards all of them. */

enum {
    BYTES_MAX = 256 << 10, /* of all keys */
    HELD_MAX = 32 << 20    /* memory of all sets that share a count */
};

struct dirty_key {
    UT_hash_handle hh;
    bool lost; /* the hash had no memory for it */
    uint8_t bytes[];
};

struct dirty_keys {
    struct dirty_key *keys;
    size_t count;
    size_t size; /* bytes of all keys */
    bool lost;
    size_t *held;
};

/* An empty set; NULL when memory ran out. *held counts the bytes of memory that
 * the keys of all sets take; it is the caller's and outlives the sets. A set
 * belongs to no talloc context, because keys are added and taken by different
 * threads. */
static struct dirty_keys *dirty_keys_create(size_t *held)
{
    struct dirty_keys *dirty = calloc(1, sizeof *dirty);
    if (dirty != NULL)
        dirty->held = held;
    return dirty;
}

static void clear(struct dirty_keys *dirty)
{
    struct dirty_key *key;
    struct dirty_key *next;
    for (key = dirty->keys; key != NULL; key = next) {
        next = key->hh.next;
        HASH_DEL(dirty->keys, key); /* NOLINT: it is in the table */
        free(key);
    }
    *dirty->held -= dirty->size + dirty->count * sizeof *key;
    dirty->count = dirty->size = 0;
}

static void dirty_keys_free(struct dirty_keys *dirty)
{
    if (dirty != NULL)
        clear(dirty);
    free(dirty);
}

static void dirty_keys_lose(struct dirty_keys *dirty)
{
    clear(dirty);
    dirty->lost = true;
}

static bool has(const struct dirty_keys *dirty, struct kx_slice key)
{
    struct dirty_key *found = NULL;
    HASH_FIND(hh, dirty->keys, key.data, (unsigned)key.size, found);
    return found != NULL;
}

static bool put(struct dirty_keys *dirty, struct kx_slice key)
{
    size_t memory = sizeof(struct dirty_key) + key.size;
    if (dirty->count == KX_WATCH_CHANGES_MAX ||
        dirty->size + key.size > BYTES_MAX || *dirty->held + memory > HELD_MAX)
        return false;
    struct dirty_key *fresh = malloc(memory);
    if (fresh == NULL)
        return false;
    fresh->lost = false;
    memcpy(fresh->bytes, key.data, key.size);
    HASH_ADD_KEYPTR(hh, dirty->keys, fresh->bytes, (unsigned)key.size, fresh);
    if (fresh->lost) {
        free(fresh);
        return false;
    }
    dirty->count++;
    dirty->size += key.size;
    *dirty->held += memory;
    return true;
}

/* Adds a key, which is copied. Too many, or no memory: as dirty_keys_lose. */
static void dirty_keys_add(struct dirty_keys *dirty, struct kx_slice key)
{
    if (!dirty->lost && !has(dirty, key) && !put(dirty, key))
        dirty_keys_lose(dirty);
}

/* Takes the keys out, in order of arrival: at most KX_WATCH_CHANGES_MAX keys,
 * which lie in bytes; its former contents are replaced. False, and no keys:
 * anything may have changed since the last call, or memory ran out. */
static bool dirty_keys_take(struct dirty_keys *dirty, struct kx_slice *keys,
                            size_t *count_out, struct kx_buffer *bytes)
{
    bool whole = !dirty->lost;
    size_t count = 0;
    bytes->size = 0;
    whole = kx_buffer_reserve(bytes, dirty->size + 1) && whole;
    for (struct dirty_key *key = dirty->keys; whole && key != NULL;
         key = key->hh.next) {
        struct kx_slice slice = kx_slice(key->bytes, key->hh.keylen);
        keys[count++] = kx_slice(bytes->data + bytes->size, slice.size);
        kx_add_slice(bytes, slice);
    }
    clear(dirty);
    dirty->lost = false;
    *count_out = count;
    return whole;
}

/* ---- Watches ------------------------------------------------------------ */

/* A watch's part in a topic. */
struct interest {
    LIST_ENTRY(interest) others;
    struct topic *topic;
    struct kx_watch *watch;
};

LIST_HEAD(interests, interest);

TAILQ_HEAD(claimants, kx_watch);

/* A watched key, or a watched prefix after a byte with which no key begins. It
 * is malloc's, because its watches belong to many threads. The members from
 * `idle` on are for a prefix of jobs. */
struct topic {
    UT_hash_handle hh;
    struct interests interests;
    bool lost;              /* the hash had no memory for it */
    struct claimants idle;  /* the watches that wait, longest first */
    struct kx_watch *timer; /* wakes by itself at timer_ms; NULL: none does */
    int64_t timer_ms;
    uint64_t missed; /* changes that came while no watch was waiting */
    uint8_t key[];
};

struct kx_watch {
    struct watch_set *set;
    LIST_ENTRY(kx_watch) all;
    struct kx_ticket *ticket; /* NULL: the owner does not wait */
    bool told;                /* the ticket will go out with the answers */
    bool changed;             /* since the last wait */
    bool of_prefix;
    bool of_jobs;
    bool owes;       /* was told of jobs that it has not claimed yet */
    bool is_idle;    /* in the list of its topic */
    uint64_t missed; /* of its topic, when it last looked */
    TAILQ_ENTRY(kx_watch) idle;
    struct dirty_keys *dirty; /* the changed keys, if a watch of a prefix
                               * collects them; otherwise NULL */
    size_t count;
    struct interest interests[];
};

/* A filter in front of the topics, because most written keys are not watched.
 * It counts the topics for each value of 14 bits of a key's hash; a key whose
 * counter is 0 needs no search. A counter that was once full stays full. */
enum { PLACES = 1 << 14, PLACE_FULL = UINT8_MAX };

struct watch_set {
    pthread_mutex_t lock;
    uint8_t places[PLACES];
    struct topic *topics;
    LIST_HEAD(watches, kx_watch) all;
    struct kx_ticket *told; /* to be answered; no longer in a watch */
    atomic_size_t count;    /* of watches */
    size_t prefixes;        /* number of watches of a prefix */
    size_t dirty_bytes;     /* what those have collected */
    kx_answer_fn *answer;
    void *answer_context;
};

enum { PREFIX_MARK = 0xff, JOBS_MARK = 0xfe };

static int finish(struct watch_set *set)
{
    return pthread_mutex_destroy(&set->lock);
}

struct watch_set *watch_set_create(void *mem, kx_answer_fn *answer,
                                   void *answer_context)
{
    struct watch_set *set = talloc_zero(mem, struct watch_set);
    if (set == NULL || pthread_mutex_init(&set->lock, NULL) != 0) {
        talloc_free(set);
        return NULL;
    }
    set->answer = answer;
    set->answer_context = answer_context;
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
    TAILQ_INIT(&topic->idle);
    topic->timer = NULL;
    topic->missed = 0;
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
    watch->missed = topic->missed;
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

/* The topic of a watch of jobs, which is its only one. */
static struct topic *jobs_of(const struct kx_watch *watch)
{
    return watch->interests[0].topic;
}

static void leave_idle(struct kx_watch *watch)
{
    if (watch->is_idle)
        TAILQ_REMOVE(&jobs_of(watch)->idle, watch, idle);
    watch->is_idle = false;
}

/* Takes the ticket of a watch, which must then be answered; NULL: its owner
 * does not wait. */
static struct kx_ticket *take_ticket(struct kx_watch *watch)
{
    struct kx_ticket *ticket = watch->ticket;
    leave_idle(watch);
    watch->ticket = NULL;
    return ticket;
}

/* A second change before the ticket has gone out is part of the first. */
static void tell(struct kx_watch *watch)
{
    struct watch_set *set = watch->set;
    struct kx_ticket *ticket = take_ticket(watch);
    watch->changed = ticket == NULL && !watch->told;
    if (ticket == NULL)
        return;
    watch->told = true;
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

static struct topic *topic_of(struct watch_set *set, struct kx_slice key)
{
    return *place_of(set, key) != 0 ? find_topic(set, key) : NULL;
}

static void note_key(struct watch_set *set, struct kx_slice key)
{
    const struct topic *topic = topic_of(set, key);
    struct interest *interest;
    if (topic == NULL)
        return;
    LIST_FOREACH(interest, &topic->interests, others) {
        tell(interest->watch);
    }
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

/* Chooses the watch to which a job is left: the one that has waited longest,
 * but the one that wakes by itself only if no other waits. NULL: none waits. */
static struct kx_watch *choose_claimant(struct topic *topic)
{
    struct kx_watch *watch = TAILQ_FIRST(&topic->idle);
    if (watch != NULL && watch == topic->timer &&
        TAILQ_NEXT(watch, idle) != NULL)
        watch = TAILQ_NEXT(watch, idle);
    if (watch == NULL)
        topic->missed++;
    else
        watch->owes = true;
    return watch;
}

/* A job that is not due yet concerns only the watch that is to wake then. */
static void note_job(struct topic *topic, const struct row_write *row)
{
    struct record record;
    struct extract_due due;
    if (row->type == ROW_DELETE || !record_read(row->value, &record) ||
        !extract_due(row->key, &record, &due))
        return;
    if (due.ms > kx_now_ms() && topic->timer != NULL &&
        due.ms >= topic->timer_ms)
        return;
    struct kx_watch *watch = choose_claimant(topic);
    if (watch != NULL)
        tell(watch);
}

/* Notes the row under each prefix that has fewer parts. No key that a client
 * can see has more than KX_KEY_MAX bytes. */
static void note_prefixes(struct watch_set *set, const struct row_write *row)
{
    uint8_t marked[1 + KX_KEY_MAX];
    struct kx_slice key = row->key;
    size_t part = 1;
    memcpy(marked + 1, key.data, key.size);
    for (size_t size = 0; size < key.size && part > 0; size += part) {
        marked[0] = PREFIX_MARK;
        const struct topic *topic = topic_of(set, kx_slice(marked, 1 + size));
        if (topic != NULL)
            note_under(topic, key);
        marked[0] = JOBS_MARK;
        struct topic *jobs = topic_of(set, kx_slice(marked, 1 + size));
        if (jobs != NULL)
            note_job(jobs, row);
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
            note_prefixes(set, &rows[i]);
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

/* Another watch of the same jobs takes over what this one has left: it was told
 * of a job and has claimed none, or was to wake when the next one is due.
 * Returns the ticket of that watch, or NULL. */
static struct kx_ticket *hand_over(struct kx_watch *watch)
{
    struct topic *topic = jobs_of(watch);
    bool timed = topic->timer == watch;
    leave_idle(watch);
    if (timed)
        topic->timer = NULL;
    struct kx_watch *heir =
        timed || watch->owes ? choose_claimant(topic) : NULL;
    return heir == NULL ? NULL : take_ticket(heir);
}

static int forget(struct kx_watch *watch)
{
    struct watch_set *set = watch->set;
    pthread_mutex_lock(&set->lock);
    struct kx_ticket *ticket =
        watch->of_jobs && watch->count > 0 ? hand_over(watch) : NULL;
    for (size_t i = 0; i < watch->count; i++)
        leave(set, &watch->interests[i]);
    LIST_REMOVE(watch, all);
    set->prefixes -= watch->of_prefix;
    atomic_fetch_sub_explicit(&set->count, 1, memory_order_release);
    dirty_keys_free(watch->dirty);
    pthread_mutex_unlock(&set->lock);
    if (ticket != NULL) {
        ticket->next = NULL;
        set->answer(set->answer_context, ticket);
    }
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
                                 enum kx_watch_of of, const void *memory,
                                 struct kx_watch **watch_out)
{
    uint8_t marked[1 + KX_KEY_MAX];
    struct kx_slice topic;
    struct kx_watch *watch = create(set, 1, memory);
    if (watch == NULL)
        return KX_NO_MEMORY;
    watch->of_prefix = true;
    watch->of_jobs = of == KX_WATCH_JOBS;
    if (of == KX_WATCH_KEYS)
        watch->dirty = dirty_keys_create(&watch->set->dirty_bytes);
    if (of == KX_WATCH_KEYS && watch->dirty == NULL) {
        talloc_free(watch);
        return KX_NO_MEMORY;
    }
    marked[0] = watch->of_jobs ? JOBS_MARK : PREFIX_MARK;
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

/* A watch of jobs looks again after a change that found no watch waiting, which
 * may have been this one. */
static bool has_missed(struct kx_watch *watch)
{
    if (!watch->of_jobs)
        return false;
    uint64_t missed = jobs_of(watch)->missed;
    bool news = missed != watch->missed;
    watch->missed = missed;
    return news;
}

enum kx_status kx_watch_wait(struct kx_watch *watch, struct kx_ticket *ticket)
{
    enum kx_status status = KX_END;
    pthread_mutex_lock(&watch->set->lock);
    if (!watch->changed && !has_missed(watch)) {
        ticket->watch = watch;
        watch->ticket = ticket;
        status = KX_OK;
    }
    if (status == KX_OK && watch->of_jobs) {
        TAILQ_INSERT_TAIL(&jobs_of(watch)->idle, watch, idle);
        watch->is_idle = true;
    }
    watch->changed = false;
    pthread_mutex_unlock(&watch->set->lock);
    return status;
}

bool kx_watch_claimed(struct kx_watch *watch, bool more, int64_t next_due_ms)
{
    pthread_mutex_lock(&watch->set->lock);
    struct topic *topic = jobs_of(watch);
    watch->owes = more;
    if (topic->timer == watch)
        topic->timer = NULL;
    bool times = next_due_ms != 0 &&
                 (topic->timer == NULL || next_due_ms < topic->timer_ms);
    if (times) {
        topic->timer = watch;
        topic->timer_ms = next_due_ms;
    }
    pthread_mutex_unlock(&watch->set->lock);
    return times;
}

bool watch_cancel(struct watch_set *set, struct kx_ticket *ticket)
{
    struct kx_watch *watch = ticket->watch;
    pthread_mutex_lock(&set->lock);
    bool waits = watch->ticket == ticket;
    if (waits) {
        watch->ticket = NULL;
        leave_idle(watch);
    }
    pthread_mutex_unlock(&set->lock);
    return waits;
}
