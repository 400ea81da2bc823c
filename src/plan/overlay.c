/* A hash of slots, one for each key that was read or changed, and the list of
 * the slots that the present commit has changed (the journal). A slot never
 * moves and is never removed before the overlay is freed, so slices into it
 * stay valid while a batch is planned, applied and flushed.
 *
 * A commit is taken back by going through its journal from the end. The slots
 * stay, with the contents that they had before the commit. */
#include "plan/overlay.h"

#include <stdlib.h>
#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(slot) ((slot)->lost = true)
#include <uthash.h>

#include "base/arena.h"
#include "engine/engine.h"

/* Longer than all of a record but its value, and than what is cached. */
enum { HEAD_BYTES = 4100 };

/* A key with what the table holds (`stored`, never changed) and what the batch
 * makes of it (`now`). Sizes 0: no row. */
struct slot {
    UT_hash_handle hh;
    struct kx_slice key;
    struct kx_slice stored;
    struct kx_slice now;
    uint64_t commit;     /* number of the last commit that noted it */
    uint64_t assumed_by; /* last commit that assumed the row absent, or 0 */
    bool changed;        /* by a kept commit or the present one */
    bool unread;         /* stored is not known */
    bool lost;           /* the hash had no memory for it */
};

/* The state that overlay_undo restores. */
struct journal_row {
    struct slot *slot;
    struct kx_slice before;
    bool was_changed;
};

struct overlay {
    struct engine_view *view;
    struct record_cache *cache;
    struct charge *charge;
    struct arena arena; /* of slots and records */
    struct slot *slots;
    struct slot *last; /* found by the last search, or NULL */
    unsigned hash;     /* hash of the key of a search without a result */
    size_t changed_count;
    size_t bytes;
    struct journal_row *journal;
    size_t journal_count;
    size_t journal_capacity;
    uint64_t commit;      /* number of the present commit, from 1 */
    struct kx_buffer row; /* for reading */
};

static int free_slots(struct overlay *overlay)
{
    HASH_CLEAR(hh, overlay->slots);
    return 0;
}

struct overlay *overlay_create(void *mem, struct engine_view *view,
                               struct record_cache *cache,
                               struct charge *charge)
{
    struct overlay *overlay = talloc_zero(mem, struct overlay);
    if (overlay == NULL)
        return NULL;
    overlay->view = view;
    overlay->cache = cache;
    overlay->charge = charge;
    overlay->commit = 1;
    arena_init(&overlay->arena, overlay);
    kx_buffer_init(&overlay->row, overlay);
    talloc_set_destructor(overlay, free_slots);
    return overlay;
}

/* Most keys are searched several times in a row. */
static struct slot *find(struct overlay *overlay, struct kx_slice key)
{
    struct slot *slot = overlay->last;
    if (slot != NULL && kx_equal(slot->key, key))
        return slot;
    HASH_VALUE(key.data, (unsigned)key.size, overlay->hash);
    HASH_FIND_BYHASHVALUE(hh, overlay->slots, key.data, (unsigned)key.size,
                          overlay->hash, slot);
    overlay->last = slot;
    return slot;
}

/* A new slot for the key of the search that just failed, with key and record in
 * one allocation. */
static struct slot *add(struct overlay *overlay, struct kx_slice key,
                        struct kx_slice stored)
{
    struct slot *slot =
        arena_take(&overlay->arena, sizeof *slot + key.size + stored.size);
    if (slot == NULL)
        return NULL;
    uint8_t *bytes = (uint8_t *)(slot + 1);
    memcpy(bytes, key.data, key.size);
    if (stored.size != 0)
        memcpy(bytes + key.size, stored.data, stored.size);
    *slot = (struct slot){.key = kx_slice(bytes, key.size),
                          .stored = kx_slice(bytes + key.size, stored.size)};
    slot->now = slot->stored;
    overlay->bytes += sizeof *slot + key.size + stored.size;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, overlay->slots, slot->key.data,
                                (unsigned)slot->key.size, overlay->hash, slot);
    if (slot->lost)
        return NULL;
    overlay->last = slot;
    return slot;
}

static void charge_read(struct overlay *overlay)
{
    charge_add(overlay->charge, 1, CHARGE_READ);
    charge_add(overlay->charge, overlay->row.size, CHARGE_PASSED);
}

/* Reads the row under a key from the table into overlay->row. */
static enum kx_status read_stored(struct overlay *overlay, struct kx_slice key)
{
    if (record_cache_get(overlay->cache, key, &overlay->row)) {
        charge_read(overlay);
        return KX_OK;
    }
    enum kx_status status =
        engine_get(overlay->view, TABLE_ENTRIES, key, &overlay->row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    charge_read(overlay);
    record_cache_fill(overlay->cache, key, kx_buffer_slice(&overlay->row));
    return KX_OK;
}

/* A slot that was made without reading, by a commit that was undone, gets the
 * stored record. */
static enum kx_status complete(struct overlay *overlay, struct slot *slot)
{
    struct kx_slice row = kx_buffer_slice(&overlay->row);
    uint8_t *copy = NULL;
    if (row.size != 0) {
        copy = arena_copy(&overlay->arena, row.data, row.size);
        if (copy == NULL)
            return KX_NO_MEMORY;
    }
    slot->stored = kx_slice(copy, row.size);
    slot->now = slot->stored;
    slot->unread = false;
    slot->assumed_by = 0;
    overlay->bytes += row.size;
    return KX_OK;
}

/* True if the slot shows the present commit what a read of the table would. */
static bool is_known(const struct overlay *overlay, const struct slot *slot)
{
    return slot->changed || !slot->unread ||
           slot->assumed_by == overlay->commit;
}

/* The slot of a key. The first time in a batch, its record is read from the
 * cache or the table. */
static enum kx_status load(struct overlay *overlay, struct kx_slice key,
                           struct slot **slot_out)
{
    struct slot *slot = find(overlay, key);
    *slot_out = slot;
    if (slot != NULL && is_known(overlay, slot))
        return KX_OK;
    enum kx_status status = read_stored(overlay, key);
    if (status != KX_OK)
        return status;
    if (slot != NULL)
        return complete(overlay, slot);
    *slot_out = add(overlay, key, kx_buffer_slice(&overlay->row));
    return *slot_out == NULL ? KX_NO_MEMORY : KX_OK;
}

void overlay_prefetch(struct overlay *overlay, struct kx_slice *keys,
                      size_t count)
{
    size_t unknown = 0;
    for (size_t i = 0; i < count; i++)
        if (find(overlay, keys[i]) == NULL &&
            !record_cache_has(overlay->cache, keys[i]))
            keys[unknown++] = keys[i];
    if (unknown > 1)
        engine_prefetch(overlay->view, keys, unknown);
}

enum kx_status overlay_get(struct overlay *overlay, struct kx_slice key,
                           struct kx_slice *record_out)
{
    struct slot *slot = NULL;
    enum kx_status status = load(overlay, key, &slot);
    if (status != KX_OK)
        return status;
    *record_out = slot->now;
    return slot->now.size == 0 ? KX_ABSENT : KX_OK;
}

enum kx_status overlay_record(struct overlay *overlay, struct kx_slice key,
                              struct record *record_out)
{
    struct kx_slice bytes;
    enum kx_status status = overlay_get(overlay, key, &bytes);
    if (status == KX_OK && !record_read(bytes, record_out))
        return KX_FAILED;
    return status;
}

/* A truncated record gets no slot. Rows of indexes are always read whole, since
 * they may have two forms. */
enum kx_status overlay_head(struct overlay *overlay, struct kx_slice key,
                            struct record *record_out)
{
    struct kx_buffer *row = &overlay->row;
    if (find(overlay, key) != NULL ||
        record_cache_get(overlay->cache, key, row))
        return overlay_record(overlay, key, record_out);
    enum kx_status status =
        engine_get_head(overlay->view, TABLE_ENTRIES, key, HEAD_BYTES, row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    charge_read(overlay);
    struct kx_slice bytes = kx_buffer_slice(row);
    if (bytes.size == HEAD_BYTES)
        return !record_of_index(bytes) && record_read(bytes, record_out)
                   ? KX_OK
                   : overlay_record(overlay, key, record_out);
    record_cache_fill(overlay->cache, key, bytes);
    if (add(overlay, key, bytes) == NULL)
        return KX_NO_MEMORY;
    return overlay_record(overlay, key, record_out);
}

/* One row for each slot and commit: `before` is what the commit found, however
 * often it changes the key. */
static bool note(struct overlay *overlay, struct slot *slot)
{
    if (slot->commit == overlay->commit)
        return true;
    if (overlay->journal_count == overlay->journal_capacity) {
        size_t capacity = overlay->journal_capacity * 2 + 16;
        struct journal_row *rows = talloc_realloc(
            overlay, overlay->journal, struct journal_row, (unsigned)capacity);
        if (rows == NULL)
            return false;
        overlay->journal = rows;
        overlay->journal_capacity = capacity;
    }
    overlay->journal[overlay->journal_count++] = (struct journal_row){
        .slot = slot, .before = slot->now, .was_changed = slot->changed};
    charge_add(overlay->charge, 1, CHARGE_ROW);
    charge_add(overlay->charge, slot->now.size, CHARGE_REMOVED);
    slot->commit = overlay->commit;
    return true;
}

/* Old records are not freed: undo and earlier slices may still need them. */
static enum kx_status change(struct overlay *overlay, struct slot *slot,
                             struct kx_slice record)
{
    uint8_t *copy = NULL;
    if (record.size != 0) {
        copy = arena_copy(&overlay->arena, record.data, record.size);
        if (copy == NULL)
            return KX_NO_MEMORY;
    }
    if (!note(overlay, slot))
        return KX_NO_MEMORY;
    overlay->changed_count += !slot->changed;
    overlay->bytes += record.size;
    if (record.size != 0)
        charge_add(overlay->charge, slot->key.size + record.size,
                   CHARGE_STORED);
    slot->changed = true;
    slot->now = kx_slice(copy, record.size);
    return KX_OK;
}

enum kx_status overlay_put(struct overlay *overlay, struct kx_slice key,
                           struct kx_slice record)
{
    struct slot *slot = NULL;
    enum kx_status status = load(overlay, key, &slot);
    return status == KX_OK ? change(overlay, slot, record) : status;
}

/* The slot of a key. A new slot is made without reading the table. */
static struct slot *find_or_add(struct overlay *overlay, struct kx_slice key)
{
    struct slot *slot = find(overlay, key);
    if (slot != NULL)
        return slot;
    slot = add(overlay, key, kx_slice(NULL, 0));
    if (slot != NULL)
        slot->unread = true;
    return slot;
}

enum kx_status overlay_put_unread(struct overlay *overlay, struct kx_slice key,
                                  struct kx_slice record)
{
    struct slot *slot = find_or_add(overlay, key);
    return slot != NULL ? change(overlay, slot, record) : KX_NO_MEMORY;
}

enum kx_status overlay_assume_absent(struct overlay *overlay,
                                     struct kx_slice key)
{
    struct slot *slot = find_or_add(overlay, key);
    if (slot == NULL)
        return KX_NO_MEMORY;
    if (!is_known(overlay, slot))
        slot->assumed_by = overlay->commit;
    return KX_OK;
}

bool overlay_changes(struct overlay *overlay, struct kx_slice key)
{
    const struct slot *slot = find(overlay, key);
    return slot != NULL && slot->commit == overlay->commit;
}

bool overlay_removes(struct overlay *overlay, struct kx_slice key)
{
    return overlay_changes(overlay, key) && find(overlay, key)->now.size == 0;
}

size_t overlay_change_count(const struct overlay *overlay)
{
    return overlay->journal_count;
}

struct change overlay_change(const struct overlay *overlay, size_t n)
{
    const struct journal_row *row = &overlay->journal[n];
    return (struct change){
        .key = row->slot->key, .before = row->before, .now = row->slot->now};
}

void overlay_keep(struct overlay *overlay)
{
    overlay->journal_count = 0;
    overlay->commit++;
}

/* `bytes` still counts the copies, which remain. */
void overlay_undo_last(struct overlay *overlay)
{
    struct journal_row *row = &overlay->journal[--overlay->journal_count];
    row->slot->now = row->before;
    overlay->changed_count -= !row->was_changed;
    row->slot->changed = row->was_changed;
    row->slot->commit = 0;
}

void overlay_undo(struct overlay *overlay)
{
    while (overlay->journal_count > 0)
        overlay_undo_last(overlay);
    overlay->commit++;
}

static int by_key(const void *a, const void *b)
{
    const struct net_change *left = a;
    const struct net_change *right = b;
    return kx_compare(left->key, right->key);
}

/* Sorted, so that the table is written in its own order, neighbours on the same
 * page, and views can search the list (view.h). */
struct net_change *overlay_net(struct overlay *overlay, size_t *count_out)
{
    *count_out = overlay->changed_count;
    if (overlay->changed_count == 0)
        return NULL;
    struct net_change *net = talloc_array(overlay, struct net_change,
                                          (unsigned)overlay->changed_count);
    if (net == NULL) {
        *count_out = 1;
        return NULL;
    }
    size_t count = 0;
    for (struct slot *slot = overlay->slots; slot != NULL; slot = slot->hh.next)
        if (slot->changed)
            net[count++] =
                (struct net_change){.key = slot->key,
                                    .stored = slot->stored,
                                    .now = slot->now,
                                    .unread = slot->unread,
                                    .assumed_absent = slot->assumed_by != 0};
    qsort(net, count, sizeof net[0], by_key);
    return net;
}

size_t overlay_size(const struct overlay *overlay)
{
    return overlay->changed_count;
}

size_t overlay_bytes(const struct overlay *overlay)
{
    return overlay->bytes;
}
