/* The groups are a hash of talloc blocks; the hash's own tables are malloc's
 * and freed by the destructor. */
#include "indexes/expected_totals.h"

#include <talloc.h>

#include "schema/totals.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(group) ((group)->lost = true)
#include <uthash.h>

struct expected_group {
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

static bool is_of_part(const struct expected_totals *expected, unsigned hash)
{
    return expected->bits == 0 ||
           hash >> (32 - expected->bits) == expected->part;
}

bool expected_totals_has_part(const struct expected_totals *expected,
                              struct kx_slice key)
{
    return is_of_part(expected, hash_of(key));
}

static size_t bytes_of(const struct expected_group *group)
{
    return sizeof *group + group->size + group->totals.size;
}

static void forget(struct expected_totals *expected,
                   struct expected_group *group)
{
    expected->bytes -= bytes_of(group);
    if (expected->unseen_after == group)
        expected->unseen_after = group->hh.prev;
    HASH_DEL(expected->groups, group);
    talloc_free(group);
}

static void forget_all(struct expected_totals *expected)
{
    struct expected_group *group = expected->groups;
    HASH_CLEAR(hh, expected->groups);
    while (group != NULL) {
        struct expected_group *next = group->hh.next;
        talloc_free(group);
        group = next;
    }
    expected->unseen_after = NULL;
    expected->bytes = 0;
}

/* ---- Adding ------------------------------------------------------------- */

static struct expected_group *find(const struct expected_totals *expected,
                                   struct kx_slice key, unsigned hash)
{
    struct expected_group *group = NULL;
    if (expected->groups != NULL)
        HASH_FIND_BYHASHVALUE(hh, expected->groups, key.data,
                              (unsigned)key.size, hash, group);
    return group;
}

static struct expected_group *add_group(struct expected_totals *expected,
                                        struct kx_slice key, unsigned hash)
{
    struct expected_group *group =
        talloc_zero_size(expected, sizeof *group + key.size);
    if (group == NULL)
        return NULL;
    group->hash = hash;
    group->size = key.size;
    memcpy(group->key, key.data, key.size);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, expected->groups, group->key,
                                (unsigned)key.size, hash, group);
    if (group->lost) {
        talloc_free(group);
        return NULL;
    }
    expected->bytes += bytes_of(group);
    return group;
}

/* Keeps the half of the part that comes first. */
static void split(struct expected_totals *expected)
{
    struct expected_group *group = NULL;
    struct expected_group *next = NULL;
    expected->bits++;
    expected->part *= 2;
    HASH_ITER(hh, expected->groups, group, next)
        if (!is_of_part(expected, group->hash))
            forget(expected, group);
}

static bool set_totals(struct expected_totals *expected,
                       struct expected_group *group)
{
    struct kx_slice sum;
    if (!kx_slice_copy(group, kx_buffer_slice(&expected->sum), &sum))
        return false;
    talloc_free((void *)group->totals.data);
    expected->bytes += sum.size;
    expected->bytes -= group->totals.size;
    group->totals = sum;
    return true;
}

/* Adds to one group what the extracted entry has. */
static enum kx_status add(struct expected_totals *expected, struct kx_slice key,
                          bool negate)
{
    uint64_t count = 0;
    unsigned hash = hash_of(key);
    if (!is_of_part(expected, hash))
        return KX_OK;
    struct expected_group *group = find(expected, key, hash);
    kx_buffer_clear(&expected->sum);
    enum kx_status status = totals_add(
        group == NULL ? kx_slice(NULL, 0) : group->totals,
        extract_totals(&expected->extract), negate, &expected->sum, &count);
    if (status != KX_OK)
        return status;
    if (group == NULL)
        group = add_group(expected, key, hash);
    if (group == NULL || !set_totals(expected, group))
        return KX_NO_MEMORY;
    if (count == 0)
        forget(expected, group);
    return KX_OK;
}

static enum kx_status add_entry(struct expected_totals *expected,
                                const struct index *index, struct kx_slice key,
                                struct kx_slice bytes, bool negate)
{
    struct record record;
    struct extract *extract = &expected->extract;
    if (!plan_client_record(bytes, &record))
        return KX_OK;
    enum kx_status status =
        extract_keys(extract, index->declaration, key, &record);
    if (status == KX_NOT_INDEXABLE)
        return KX_OK;
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = add(expected, extract_key(extract, n), negate);
    return status;
}

enum kx_status expected_totals_read(struct expected_totals *expected,
                                    const struct index *index,
                                    struct kx_slice key, struct kx_slice bytes)
{
    enum kx_status status = KX_OK;
    if (declaration_covers(index->declaration, key))
        status = add_entry(expected, index, key, bytes, false);
    while (expected->bytes > EXPECTED_TOTALS_BYTES_MAX &&
           expected->bits < EXPECTED_TOTALS_BITS_MAX)
        split(expected);
    expected->lost = expected->lost || status != KX_OK;
    return status;
}

/* ---- Changes ------------------------------------------------------------ */

static bool has_read(const struct expected_totals *expected,
                     struct kx_slice key)
{
    return expected->pass != TOTALS_PASS_ENTRIES ||
           kx_compare(key, row_position_key(&expected->read)) <= 0;
}

static enum kx_status note_change(struct expected_totals *expected,
                                  const struct index *index,
                                  const struct net_change *change)
{
    if (!declaration_covers(index->declaration, change->key) ||
        !has_read(expected, change->key))
        return KX_OK;
    if (change->unread) /* of a client's entry: never */
        return KX_FAILED;
    enum kx_status status =
        add_entry(expected, index, change->key, change->stored, true);
    return status == KX_OK
               ? add_entry(expected, index, change->key, change->now, false)
               : status;
}

/* Index rows among the changes are skipped: they are not records of clients.
 * While rows are compared, the part cannot be split. */
static void note(struct change_listener *listener,
                 const struct net_change *changes, size_t count)
{
    struct expected_totals *expected = (struct expected_totals *)listener;
    const struct index *index =
        catalog_by_id(expected->writer->base.catalog, expected->id);
    if (index == NULL)
        expected->lost = true;
    for (size_t i = 0; i < count && !expected->lost; i++)
        expected->lost = note_change(expected, index, &changes[i]) != KX_OK ||
                         expected->bytes / 2 > EXPECTED_TOTALS_BYTES_MAX;
    if (expected->lost)
        forget_all(expected);
}

/* ---- Beginning and end -------------------------------------------------- */

static int leave(struct expected_totals *expected)
{
    struct change_listener **at = &expected->writer->listeners;
    while (*at != &expected->listener)
        at = &(*at)->next;
    *at = expected->listener.next;
    HASH_CLEAR(hh, expected->groups);
    return 0;
}

struct expected_totals *expected_totals_find(const struct writer *writer,
                                             const struct index *index)
{
    for (struct change_listener *at = writer->listeners; at != NULL;
         at = at->next)
        if (at->note == note && ((struct expected_totals *)at)->id == index->id)
            return (struct expected_totals *)at;
    return NULL;
}

struct expected_totals *expected_totals_begin(struct writer *writer,
                                              const struct index *index)
{
    expected_totals_end(writer, index);
    struct expected_totals *expected =
        talloc_zero(index, struct expected_totals);
    if (expected == NULL)
        return NULL;
    expected->writer = writer;
    expected->id = index->id;
    expected->listener =
        (struct change_listener){.next = writer->listeners, .note = note};
    writer->listeners = &expected->listener;
    extract_init(&expected->extract, expected);
    kx_buffer_init(&expected->sum, expected);
    talloc_set_destructor(expected, leave);
    return expected;
}

void expected_totals_end(struct writer *writer, const struct index *index)
{
    talloc_free(expected_totals_find(writer, index));
}

/* ---- Comparing ---------------------------------------------------------- */

struct kx_slice expected_totals_of(struct expected_totals *expected,
                                   struct kx_slice key)
{
    struct expected_group *group = find(expected, key, hash_of(key));
    if (group == NULL)
        return kx_slice(NULL, 0);
    group->seen = true;
    return group->totals;
}

bool expected_totals_next_unseen(struct expected_totals *expected,
                                 struct kx_slice *key_out,
                                 struct kx_slice *totals_out)
{
    struct expected_group *after = expected->unseen_after;
    struct expected_group *group =
        after == NULL ? expected->groups : after->hh.next;
    for (; group != NULL && group->seen; group = group->hh.next)
        expected->unseen_after = group;
    if (group == NULL)
        return false;
    group->seen = true;
    expected->unseen_after = group;
    *key_out = kx_slice(group->key, group->size);
    *totals_out = group->totals;
    return true;
}

bool expected_totals_next_part(struct expected_totals *expected)
{
    forget_all(expected);
    expected->pass = TOTALS_PASS_ENTRIES;
    expected->read.size = 0;
    expected->part++;
    return expected->part >> expected->bits == 0;
}
