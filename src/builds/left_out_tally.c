/* Follows the entries that an index leaves out while a job reads them. */
#include "builds/left_out_tally.h"

#include <talloc.h>

void left_out_tally_add(struct left_out_tally *tally,
                        const struct extract *extract)
{
    if (extract->count == 0)
        tally->counts[extract_left_out(extract)]++;
}

/* Adds `sign` (1 or -1) to the number of the reason if the index leaves the
 * entry out. Does nothing if the bytes are not a client's record. */
static void add(struct left_out_tally *tally,
                const struct declaration *declaration, struct kx_slice key,
                struct kx_slice bytes, int sign)
{
    struct record record;
    struct extract *extract = &tally->extract;
    if (!plan_client_record(bytes, &record))
        return;
    enum kx_status status = extract_keys(extract, declaration, key, &record);
    tally->lost |= status != KX_OK && status != KX_NOT_INDEXABLE;
    if (!tally->lost && extract->count == 0)
        tally->counts[extract_left_out(extract)] += sign;
}

static void note(struct change_listener *listener,
                 const struct net_change *changes, size_t count)
{
    struct left_out_tally *tally = (struct left_out_tally *)listener;
    const struct index *index =
        catalog_by_id(tally->writer->base.catalog, tally->id);
    for (size_t i = 0; index != NULL && i < count; i++) {
        const struct net_change *change = &changes[i];
        if (!declaration_covers(index->declaration, change->key) ||
            !tally->has_read(tally, index, change->key))
            continue;
        add(tally, index->declaration, change->key, change->stored, -1);
        add(tally, index->declaration, change->key, change->now, 1);
    }
}

static int leave(struct left_out_tally *tally)
{
    struct change_listener **at = &tally->writer->listeners;
    while (*at != &tally->listener)
        at = &(*at)->next;
    *at = tally->listener.next;
    return 0;
}

struct left_out_tally *left_out_tally_begin(const void *mem,
                                            struct writer *writer,
                                            const struct index *index,
                                            left_out_has_read_fn *has_read,
                                            const void *job)
{
    struct left_out_tally *tally = talloc_zero(mem, struct left_out_tally);
    if (tally == NULL)
        return NULL;
    tally->writer = writer;
    tally->id = index->id;
    tally->has_read = has_read;
    tally->job = job;
    tally->listener =
        (struct change_listener){.next = writer->listeners, .note = note};
    writer->listeners = &tally->listener;
    extract_init(&tally->extract, tally);
    talloc_set_destructor(tally, leave);
    return tally;
}
