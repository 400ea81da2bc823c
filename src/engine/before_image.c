/* Binary search in a list of changes that the plan owns. */
#include "engine/before_image.h"

size_t before_image_lower_bound(const struct net_change *changes, size_t count,
                                struct kx_slice key)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (kx_compare(changes[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t before_image_gap_bound(const struct net_change *changes, size_t count,
                              uint32_t gap)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (changes[middle].gap < gap)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool before_image_find(const struct before_image *before_image,
                       struct kx_slice key, struct kx_slice *stored_out)
{
    if (before_image->count == 0)
        return false;
    size_t at = before_image_lower_bound(before_image->changes,
                                         before_image->count, key);
    if (at == before_image->count ||
        !kx_equal(before_image->changes[at].key, key))
        return false;
    *stored_out = before_image->changes[at].stored;
    return true;
}
