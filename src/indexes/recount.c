/* The groups are a hash of talloc blocks; the hash's own tables are malloc's
 * and freed by the destructor. */
#include "indexes/recount.h"

#include <talloc.h>

#include "schema/totals.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(group) ((group)->lost = true)
#include <uthash.h>

struct recount_group {
    UT_hash_handle hh;
    unsigned hash;
    bool lost; /* the hash had no memory for it */
    bool seen;
    struct kx_slice totals; /* a child of the group */
    size_t size;            /* of the key */
    uint8_t key[];
};

static unsigned hash_of(struct kx_slice key)
{
    unsigned hash = 0;
    HASH_VALUE(key.data, (unsigned)key.size, hash);
    return hash;
}

static bool is_of_part(const struct recount *recount, unsigned hash)
{
    return recount->bits == 0 || hash >> (32 - recount->bits) == recount->part;
}

bool recount_has_part(const struct recount *recount, struct kx_slice key)
{
    return is_of_part(recount, hash_of(key));
}

static size_t bytes_of(const struct recount_group *group)
{
    return sizeof *group + group->size + group->totals.size;
}

static void forget(struct recount *recount, struct recount_group *group)
{
    recount->bytes -= bytes_of(group);
    if (recount->unseen_after == group)
        recount->unseen_after = group->hh.prev;
    HASH_DEL(recount->groups, group);
    talloc_free(group);
}

static void forget_all(struct recount *recount)
{
    struct recount_group *group = recount->groups;
    HASH_CLEAR(hh, recount->groups);
    while (group != NULL) {
        struct recount_group *next = group->hh.next;
        talloc_free(group);
        group = next;
    }
    recount->unseen_after = NULL;
    recount->bytes = 0;
}

/* ---- Adding ------------------------------------------------------------- */

static struct recount_group *find(const struct recount *recount,
                                  struct kx_slice key, unsigned hash)
{
    struct recount_group *group = NULL;
    if (recount->groups != NULL)
        HASH_FIND_BYHASHVALUE(hh, recount->groups, key.data, (unsigned)key.size,
                              hash, group);
    return group;
}

static struct recount_group *add_group(struct recount *recount,
                                       struct kx_slice key, unsigned hash)
{
    struct recount_group *group =
        talloc_zero_size(recount, sizeof *group + key.size);
    if (group == NULL)
        return NULL;
    group->hash = hash;
    group->size = key.size;
    memcpy(group->key, key.data, key.size);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, recount->groups, group->key,
                                (unsigned)key.size, hash, group);
    if (group->lost) {
        talloc_free(group);
        return NULL;
    }
    recount->bytes += bytes_of(group);
    return group;
}

/* Keeps the half of the part that comes first. */
static void split(struct recount *recount)
{
    struct recount_group *group = NULL;
    struct recount_group *next = NULL;
    recount->bits++;
    recount->part *= 2;
    HASH_ITER(hh, recount->groups, group, next)
        if (!is_of_part(recount, group->hash))
            forget(recount, group);
}

static bool set_totals(struct recount *recount, struct recount_group *group)
{
    struct kx_slice sum = kx_buffer_slice(&recount->sum);
    void *copy = talloc_memdup(group, sum.data, sum.size);
    if (copy == NULL)
        return false;
    talloc_free((void *)group->totals.data);
    recount->bytes += sum.size;
    recount->bytes -= group->totals.size;
    group->totals = kx_slice(copy, sum.size);
    return true;
}

/* Adds to one group what the extracted entry has. */
static enum kx_status add(struct recount *recount, struct kx_slice key,
                          bool negate)
{
    uint64_t count = 0;
    unsigned hash = hash_of(key);
    if (!is_of_part(recount, hash))
        return KX_OK;
    struct recount_group *group = find(recount, key, hash);
    kx_buffer_clear(&recount->sum);
    enum kx_status status = totals_add(
        group == NULL ? kx_slice(NULL, 0) : group->totals,
        extract_totals(&recount->extract), negate, &recount->sum, &count);
    if (status != KX_OK)
        return status;
    if (group == NULL)
        group = add_group(recount, key, hash);
    if (group == NULL || !set_totals(recount, group))
        return KX_NO_MEMORY;
    if (count == 0)
        forget(recount, group);
    return KX_OK;
}

static enum kx_status add_entry(struct recount *recount,
                                const struct index *index, struct kx_slice key,
                                struct kx_slice bytes, bool negate)
{
    struct record record;
    struct extract *extract = &recount->extract;
    if (!plan_client_record(bytes, &record))
        return KX_OK;
    enum kx_status status =
        extract_keys(extract, index->declaration, key, &record);
    if (status == KX_NOT_INDEXABLE)
        return KX_OK;
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = add(recount, extract_key(extract, n), negate);
    return status;
}

enum kx_status recount_take(struct recount *recount, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes)
{
    enum kx_status status = KX_OK;
    if (declaration_covers(index->declaration, key))
        status = add_entry(recount, index, key, bytes, false);
    while (recount->bytes > RECOUNT_BYTES_MAX &&
           recount->bits < RECOUNT_BITS_MAX)
        split(recount);
    recount->lost = recount->lost || status != KX_OK;
    return status;
}

/* ---- Changes ------------------------------------------------------------ */

static bool has_read(const struct recount *recount, struct kx_slice key)
{
    return recount->phase != RECOUNT_ENTRIES ||
           kx_compare(key, row_position_key(&recount->read)) <= 0;
}

static enum kx_status note_change(struct recount *recount,
                                  const struct index *index,
                                  const struct net_change *change)
{
    if (!declaration_covers(index->declaration, change->key) ||
        !has_read(recount, change->key))
        return KX_OK;
    if (change->unread) /* of a client's entry: never */
        return KX_FAILED;
    enum kx_status status =
        add_entry(recount, index, change->key, change->stored, true);
    return status == KX_OK
               ? add_entry(recount, index, change->key, change->now, false)
               : status;
}

/* An index row among the changes is no client's record, before and after. While
 * rows are compared, the part cannot be split. */
static void note(struct change_listener *listener,
                 const struct net_change *changes, size_t count)
{
    struct recount *recount = (struct recount *)listener;
    const struct index *index =
        catalog_by_id(recount->writer->base.catalog, recount->id);
    if (index == NULL)
        recount->lost = true;
    for (size_t i = 0; i < count && !recount->lost; i++)
        recount->lost = note_change(recount, index, &changes[i]) != KX_OK ||
                        recount->bytes / 2 > RECOUNT_BYTES_MAX;
    if (recount->lost)
        forget_all(recount);
}

/* ---- Beginning and end -------------------------------------------------- */

static int leave(struct recount *recount)
{
    struct change_listener **at = &recount->writer->listeners;
    while (*at != &recount->listener)
        at = &(*at)->next;
    *at = recount->listener.next;
    HASH_CLEAR(hh, recount->groups);
    return 0;
}

struct recount *recount_find(const struct writer *writer,
                             const struct index *index)
{
    for (struct change_listener *at = writer->listeners; at != NULL;
         at = at->next)
        if (((struct recount *)at)->id == index->id)
            return (struct recount *)at;
    return NULL;
}

struct recount *recount_begin(struct writer *writer, const struct index *index)
{
    recount_end(writer, index);
    struct recount *recount = talloc_zero(index, struct recount);
    if (recount == NULL)
        return NULL;
    recount->writer = writer;
    recount->id = index->id;
    recount->listener =
        (struct change_listener){.next = writer->listeners, .note = note};
    writer->listeners = &recount->listener;
    extract_init(&recount->extract, recount);
    kx_buffer_init(&recount->sum, recount);
    talloc_set_destructor(recount, leave);
    return recount;
}

void recount_end(struct writer *writer, const struct index *index)
{
    talloc_free(recount_find(writer, index));
}

/* ---- Comparing ---------------------------------------------------------- */

struct kx_slice recount_see(struct recount *recount, struct kx_slice key)
{
    struct recount_group *group = find(recount, key, hash_of(key));
    if (group == NULL)
        return kx_slice(NULL, 0);
    group->seen = true;
    return group->totals;
}

bool recount_unseen(struct recount *recount, struct kx_slice *key_out,
                    struct kx_slice *totals_out)
{
    struct recount_group *after = recount->unseen_after;
    struct recount_group *group =
        after == NULL ? recount->groups : after->hh.next;
    for (; group != NULL && group->seen; group = group->hh.next)
        recount->unseen_after = group;
    if (group == NULL)
        return false;
    group->seen = true;
    recount->unseen_after = group;
    *key_out = kx_slice(group->key, group->size);
    *totals_out = group->totals;
    return true;
}

bool recount_next_part(struct recount *recount)
{
    forget_all(recount);
    recount->phase = RECOUNT_ENTRIES;
    recount->read.size = 0;
    recount->part++;
    return recount->part >> recount->bits == 0;
}
