/* Entries that several ranges find, or one range several times. Nothing is
 * remembered of what was shown: an entry, or its keys in an index, tell where
 * else the ranges find it. If one of these places is before the present one in
 * the order of the list, it was shown there. */
#include "read/reader_ranges.h"

static bool may_share(const struct kx_list_range *a,
                      const struct kx_list_range *b)
{
    struct kx_slice a_end = a->range.end;
    struct kx_slice b_end = b->range.end;
    return !kx_equal(a->index, b->index) ||
           ((a_end.size == 0 || kx_compare(b->range.start, a_end) < 0) &&
            (b_end.size == 0 || kx_compare(a->range.start, b_end) < 0));
}

bool reader_may_repeat(const struct kx_reader *reader,
                       const struct kx_ranges *ranges)
{
    const struct catalog *catalog = reader->store->catalog;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct kx_list_range *range = &ranges->list[i];
        const struct index *index = NULL;
        if (range->index.size > 0)
            index = catalog_find(catalog, range->index);
        if (index != NULL && index->declaration->has_each)
            return true;
        for (size_t j = 0; j < i; j++)
            if (may_share(&ranges->list[j], range))
                return true;
    }
    return false;
}

/* Is the place `key` in range `number` before the last row, which is `here`? */
static bool is_before(const struct reader_ranges *several, size_t number,
                      struct kx_slice key, struct kx_slice here)
{
    const struct kx_ranges *ranges = several->ranges;
    const struct kx_list_range *other = ranges_at(several, number);
    const struct kx_list_range *own = ranges_at(several, several->at);
    if (!ranges->merge && number != several->at)
        return number < several->at;
    if (ranges->merge) {
        key = ranges_cut(key, other->given);
        here = ranges_cut(here, own->given);
    }
    int order = kx_compare(key, here);
    if (own->range.reverse)
        order = -order;
    return order < 0 || (order == 0 && number < several->at);
}

/* The keys that an entry has in an index. KX_OK, also without any;
 * KX_NO_MEMORY, KX_FAILED. */
static enum kx_status find_places(struct kx_reader *reader,
                                  const struct index *index,
                                  struct kx_slice key)
{
    struct reader_ranges *several = reader->ranges;
    struct record record;
    several->extract.count = 0;
    if (!declaration_covers(index->declaration, key))
        return KX_OK;
    enum kx_status status =
        reader_record(reader, key, &several->record, &record);
    if (status == KX_OK && record.index == 0)
        status =
            extract_keys(&several->extract, index->declaration, key, &record);
    return status == KX_ABSENT || status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* Does the range find the entry before the last row, by an index of which the
 * entry may have any number of keys? *known: the index whose keys of the entry
 * are extracted. KX_OK, KX_ABSENT or an error. */
static enum kx_status find_by_keys(struct kx_reader *reader, size_t number,
                                   struct kx_slice entry,
                                   const struct index *index,
                                   const struct index **known)
{
    struct reader_ranges *several = reader->ranges;
    struct kx_slice here = kx_scan_position(reader);
    if (index != *known) {
        enum kx_status status = find_places(reader, index, entry);
        if (status != KX_OK)
            return status;
        *known = index;
    }
    for (size_t i = 0; i < several->extract.count; i++) {
        struct kx_slice key = ranges_cut(extract_key(&several->extract, i),
                                         index->declaration->name_key.size);
        if (ranges_within(ranges_at(several, number), key) &&
            is_before(several, number, key, here))
            return KX_OK;
    }
    return KX_ABSENT;
}

/* The same by any index, or without one. */
static enum kx_status find_before(struct kx_reader *reader, size_t number,
                                  struct kx_slice entry,
                                  const struct index **known)
{
    const struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *range = ranges_at(several, number);
    struct kx_slice here = kx_scan_position(reader);
    struct kx_slice place = entry;
    if (range->index.size > 0) {
        const struct index *index =
            catalog_find(reader->store->catalog, range->index);
        if (index == NULL)
            return KX_ABSENT;
        if (index != reader->index || index->declaration->has_each)
            return find_by_keys(reader, number, entry, index, known);
        place = here;
    }
    if (ranges_within(range, place) && is_before(several, number, place, here))
        return KX_OK;
    return KX_ABSENT;
}

enum kx_status reader_repeated(struct kx_reader *reader, struct kx_slice entry)
{
    struct reader_ranges *several = reader->ranges;
    const struct index *known = NULL;
    enum kx_status status = KX_ABSENT;
    if (!several->overlap)
        return KX_ABSENT;
    size_t count = several->at + 1;
    if (several->ranges->merge)
        count = several->ranges->count;
    for (size_t i = 0; i < count && status == KX_ABSENT; i++)
        status = find_before(reader, i, entry, &known);
    return status;
}
