/* Series of look-ups on the cursor of a range: neighbours are found without
 * searching the tree. */
#include "bdb/range.h"

#include "bdb/bdb.h"
#include "bdb/range_state.h"

/* At most 2^WAIT_BITS look-ups pass before the next row is tried again. */
enum { WAIT_BITS = 5 };

/* Returns whether the wanted row directly follows the last one, without a
 * search of the tree. */
static bool found_next(struct range *range, struct kx_slice key, u_int32_t how)
{
    if (range_fetch(range, kx_slice(NULL, 0), DB_NEXT) != KX_OK)
        return false;
    int order = kx_compare(kx_slice(range->key.data, range->key.size), key);
    return order == 0 || (order > 0 && how == DB_SET_RANGE);
}

/* After each failed try, twice as many look-ups pass before the next try. So
 * scattered keys cost a handful of tries, and a run of neighbours among them is
 * still found. */
static bool tried_next(struct range *range, struct kx_slice key, u_int32_t how)
{
    if (range->wait > 0) {
        range->wait--;
        return false;
    }
    bool found = found_next(range, key, how);
    range->misses = found ? 0 : range->misses + 1;
    if (!found)
        range->wait =
            (1u << (range->misses < WAIT_BITS ? range->misses : WAIT_BITS)) - 1;
    return found;
}

/* One look-up of a series, with DB_SET or DB_SET_RANGE. */
static enum kx_status look_up(struct range *range, struct kx_slice key,
                              u_int32_t how)
{
    enum kx_status status = KX_OK;
    bool found = false;
    if (range->cursor == NULL) {
        status = range_open_cursor(range);
        range->wait = 0;
        range->misses = 0;
    } else {
        found = tried_next(range, key, how);
    }
    if (status == KX_OK && !found)
        status = range_fetch(range, key, how);
    return status;
}

enum kx_status range_find(struct range *range, struct kx_slice key,
                          struct kx_slice *value_out)
{
    enum kx_status status = look_up(range, key, DB_SET);
    if (status == KX_END)
        return KX_ABSENT;
    if (status == KX_OK)
        *value_out = kx_slice(range->bulk.data, range->bulk.size);
    return status;
}

enum kx_status range_seek(struct range *range, struct kx_slice key,
                          struct kx_slice *key_out, struct kx_slice *value_out)
{
    enum kx_status status = look_up(range, key, DB_SET_RANGE);
    if (status == KX_OK) {
        *key_out = kx_slice(range->key.data, range->key.size);
        *value_out = kx_slice(range->bulk.data, range->bulk.size);
    }
    return status;
}
