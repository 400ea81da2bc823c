/* Binary search in a list that the plan owns. */
#include "engine/shadow.h"

size_t shadow_lower_bound(const struct net_change *changes, size_t count,
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

size_t shadow_gap_bound(const struct net_change *changes, size_t count,
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

bool shadow_find(const struct shadow *shadow, struct kx_slice key,
                 struct kx_slice *stored_out)
{
    if (shadow->count == 0)
        return false;
    size_t at = shadow_lower_bound(shadow->changes, shadow->count, key);
    if (at == shadow->count || !kx_equal(shadow->changes[at].key, key))
        return false;
    *stored_out = shadow->changes[at].stored;
    return true;
}
