/* Range scans on one Berkeley DB cursor, which look-ups share. Forward scans
 * fetch whole pages at a time, which the library does only in that direction.
 *
 * A cursor is closed before a batch is applied: each view and the writer end
 * their scans first, so that no cursor is on a page that changes. */
#include "bdb/range.h"

#include <talloc.h>

#include "bdb/bdb.h"
#include "bdb/range_state.h"
#include "engine/before_image.h"

/* The first fetch is small, because most scans are; later ones grow. */
enum {
    FETCH_MIN = 8 << 10,
    FETCH_MAX = 64 << 10,
    KEPT_MAX = 2 * FETCH_MAX /* bytes of buffer kept from scan to scan */
};

/* The number of absent rows of a gap that are skipped one by one, because a new
 * descent of the tree costs more. */
enum { GAP_FEW = 8 };

/* Makes room for the first row, and resets an earlier failure of a buffer. */
static bool make_room(struct range *range)
{
    kx_buffer_clear(&range->fetched);
    kx_buffer_clear(&range->key);
    return kx_buffer_reserve(&range->fetched, FETCH_MIN) &&
           kx_buffer_reserve(&range->key, ROW_KEY_MAX);
}

enum kx_status range_create(void *mem, struct env *env, enum table table,
                            struct range **range_out)
{
    struct range *range = talloc_zero(mem, struct range);
    if (range == NULL)
        return KX_NO_MEMORY;
    range->env = env;
    range->db = env->tables[table];
    kx_buffer_init(&range->fetched, range);
    kx_buffer_init(&range->key, range);
    if (!make_room(range)) {
        talloc_free(range);
        return KX_NO_MEMORY;
    }
    *range_out = range;
    return KX_OK;
}

void range_set_before_image(struct range *range,
                            const struct before_image *before_image)
{
    range->before_image = before_image;
}

/* Finds the changes of the before image that lie within the bounds. */
static void enter_before_image(struct range *range)
{
    const struct before_image *before_image = range->before_image;
    range->held = false;
    range->before_image_low = 0;
    range->before_image_high = 0;
    if (before_image == NULL || before_image->count == 0)
        return;
    range->before_image_low = before_image_lower_bound(
        before_image->changes, before_image->count, range->start);
    range->before_image_high =
        range->end.size == 0
            ? before_image->count
            : before_image_lower_bound(before_image->changes,
                                       before_image->count, range->end);
    if (range->before_image_high < range->before_image_low)
        range->before_image_high = range->before_image_low;
}

enum kx_status range_open_cursor(struct range *range)
{
    if (!make_room(range))
        return KX_NO_MEMORY;
    int error = range->db->cursor(range->db, NULL, &range->cursor, 0);
    if (error != 0)
        range->cursor = NULL;
    return bdb_status(range->env, error, "cursor");
}

/* Makes the scan search the tree for its next row. */
static void begin_at_bound(struct range *range)
{
    range->fresh = true;
    range->page_size = FETCH_MIN;
    range->next_row = NULL;
}

enum kx_status range_begin(struct range *range, struct kx_slice start,
                           struct kx_slice end, bool reverse)
{
    range_end(range);
    range->start = start;
    range->end = end;
    range->reverse = reverse;
    range->given = 0;
    begin_at_bound(range);
    enter_before_image(range);
    return range_open_cursor(range);
}

/* Returns the buffer for a row's key, filled with the key to look up. */
static DBT row_key(struct range *range, struct kx_slice target)
{
    if (target.size != 0)
        memcpy(range->key.data, target.data, target.size);
    return (DBT){.data = range->key.data,
                 .size = (u_int32_t)target.size,
                 .ulen = (u_int32_t)range->key.capacity,
                 .flags = DB_DBT_USERMEM};
}

/* Makes one cursor call that stores at most `room` bytes of data in `fetched`,
 * which it enlarges if necessary. Sets the key's size in range->key, which has
 * room for the key of any row; a bound may be longer. */
static enum kx_status fetch_into(struct range *range, struct kx_slice target,
                                 u_int32_t how, size_t room)
{
    range->key.size = 0;
    if (!kx_buffer_reserve(&range->key, target.size))
        return KX_NO_MEMORY;
    for (;;) {
        DBT key = row_key(range, target);
        range->bulk = (DBT){.data = range->fetched.data,
                            .ulen = (u_int32_t)room & ~1023u,
                            .flags = DB_DBT_USERMEM};
        int error = range->cursor->get(range->cursor, &key, &range->bulk, how);
        range->key.size = key.size;
        range->fetched.size = 0;
        if (error != DB_BUFFER_SMALL)
            return error == DB_NOTFOUND
                       ? KX_END
                       : bdb_status(range->env, error, "cursor get");
        room = (size_t)range->bulk.size + FETCH_MIN;
        if (!kx_buffer_reserve(&range->fetched, room))
            return KX_NO_MEMORY;
    }
}

enum kx_status range_fetch(struct range *range, struct kx_slice target,
                           u_int32_t how)
{
    return fetch_into(range, target, how, range->fetched.capacity);
}

/* Fetches the next rows into `fetched`. The buffer may grow only here, where no
 * slice points into it. */
static enum kx_status fetch_page(struct range *range)
{
    struct kx_slice target = kx_slice(NULL, 0);
    u_int32_t how = DB_NEXT;
    if (range->fresh) {
        target = range->start;
        how = target.size == 0 ? DB_FIRST : DB_SET_RANGE;
    } else if (range->page_size < FETCH_MAX) {
        range->page_size *= 2;
    }
    range->fresh = false;
    if (!kx_buffer_reserve(&range->fetched, range->page_size))
        return KX_NO_MEMORY;
    enum kx_status status =
        fetch_into(range, target, how | DB_MULTIPLE_KEY, range->page_size);
    if (status == KX_OK)
        DB_MULTIPLE_INIT(range->next_row, &range->bulk);
    return status;
}

/* The slices point into the fetched page, which stays until all of its rows are
 * taken. */
static enum kx_status next_forward(struct range *range, struct kx_slice *key,
                                   struct kx_slice *value)
{
    for (;;) {
        if (range->next_row == NULL) {
            enum kx_status status = fetch_page(range);
            if (status != KX_OK)
                return status;
        }
        uint8_t *name = NULL;
        uint8_t *data = NULL;
        size_t name_size = 0;
        size_t data_size = 0;
        DB_MULTIPLE_KEY_NEXT(range->next_row, &range->bulk, name, name_size,
                             data, data_size);
        if (name == NULL)
            continue;
        *key = kx_slice(name, name_size);
        *value = kx_slice(data, data_size);
        if (range->end.size != 0 && kx_compare(*key, range->end) >= 0)
            return KX_END;
        return KX_OK;
    }
}

/* Puts the cursor on the last row below end: the row before the first one that
 * is at or above end, or the table's last row. */
static enum kx_status fetch_last(struct range *range)
{
    if (range->end.size != 0) {
        enum kx_status status = range_fetch(range, range->end, DB_SET_RANGE);
        if (status == KX_OK)
            return range_fetch(range, kx_slice(NULL, 0), DB_PREV);
        if (status != KX_END)
            return status;
    }
    return range_fetch(range, kx_slice(NULL, 0), DB_LAST);
}

static enum kx_status next_reverse(struct range *range, struct kx_slice *key,
                                   struct kx_slice *value)
{
    enum kx_status status =
        range->fresh ? fetch_last(range)
                     : range_fetch(range, kx_slice(NULL, 0), DB_PREV);
    range->fresh = false;
    if (status != KX_OK)
        return status;
    *key = kx_slice(range->key.data, range->key.size);
    *value = kx_slice(range->bulk.data, range->bulk.size);
    return kx_compare(*key, range->start) < 0 ? KX_END : KX_OK;
}

/* Returns the table's next row, regardless of the before image. */
static enum kx_status next_stored(struct range *range, struct kx_slice *key,
                                  struct kx_slice *value)
{
    return range->reverse ? next_reverse(range, key, value)
                          : next_forward(range, key, value);
}

/* Returns the next change of the before image in the direction of the scan, or
 * NULL if no change is left. */
static const struct net_change *next_change(const struct range *range)
{
    if (range->before_image_low == range->before_image_high)
        return NULL;
    size_t at =
        range->reverse ? range->before_image_high - 1 : range->before_image_low;
    return &range->before_image->changes[at];
}

/* Compares the held row with a key. Returns < 0 if the row comes first in the
 * direction of the scan. */
static int order_of_held(const struct range *range, struct kx_slice key)
{
    if (range->held_status == KX_END)
        return 1;
    int order = kx_compare(range->held_key, key);
    return range->reverse ? -order : order;
}

/* Returns the next row of table and before image; the before image decides if
 * both have the key. KX_ABSENT: the before image says that the row is absent.
 */
static enum kx_status take_merged(struct range *range, struct kx_slice *key,
                                  struct kx_slice *value)
{
    if (!range->held)
        range->held_status =
            next_stored(range, &range->held_key, &range->held_value);
    range->held = true;
    if (range->held_status != KX_OK && range->held_status != KX_END)
        return range->held_status;
    const struct net_change *change = next_change(range);
    int order = change != NULL ? order_of_held(range, change->key) : -1;
    range->held = order > 0 || range->held_status == KX_END;
    if (order < 0) {
        *key = range->held_key;
        *value = range->held_value;
        return range->held_status;
    }
    range->before_image_low += !range->reverse;
    range->before_image_high -= range->reverse;
    *key = change->key;
    *value = change->stored;
    return value->size != 0 ? KX_OK : KX_ABSENT;
}

/* Skips the rest of a gap after an absent row: its rows are absent, too. If
 * there are many, the scan continues at the last of them or, in reverse, before
 * the first. */
static void pass_gap(struct range *range)
{
    const struct net_change *changes = range->before_image->changes;
    size_t low = range->before_image_low;
    size_t high = range->before_image_high;
    uint32_t gap = changes[range->reverse ? high : low - 1].gap;
    size_t few = range->reverse ? high - 1 - GAP_FEW : low + GAP_FEW;
    if (high - low <= GAP_FEW || changes[few].gap != gap)
        return;
    if (range->reverse) {
        size_t first = before_image_gap_bound(changes, high, gap);
        range->before_image_high = first < low ? low : first;
        range->end = changes[range->before_image_high].key;
    } else {
        range->before_image_low =
            before_image_gap_bound(changes, high, gap + 1) - 1;
        range->start = changes[range->before_image_low].key;
    }
    range->held = false;
    begin_at_bound(range);
}

static enum kx_status next_merged(struct range *range, struct kx_slice *key,
                                  struct kx_slice *value)
{
    enum kx_status status;
    while ((status = take_merged(range, key, value)) == KX_ABSENT)
        pass_gap(range);
    return status;
}

/* Returns false once the scan has passed all changes of the before image. */
static bool in_before_image(const struct range *range)
{
    return range->held || range->before_image_low < range->before_image_high;
}

enum kx_status range_next(struct range *range, struct kx_slice *key_out,
                          struct kx_slice *value_out)
{
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status = in_before_image(range)
                                ? next_merged(range, &key, &value)
                                : next_stored(range, &key, &value);
    if (status == KX_OK) {
        *key_out = key;
        *value_out = value;
        range->given += value.size;
    }
    return status;
}

/* In the library's layout, a row of a fetched page is four numbers, which the
 * position counts down. Rows of the before image cannot be peeked at. */
bool range_peek(const struct range *range, size_t ahead,
                struct kx_slice *key_out, struct kx_slice *value_out)
{
    enum { NUMBERS = 4 };
    if (range->reverse || range->next_row == NULL || range->held ||
        range->before_image_low < range->before_image_high)
        return false;
    void *row = (u_int32_t *)range->next_row - NUMBERS * ahead;
    uint8_t *key = NULL;
    uint8_t *value = NULL;
    size_t key_size = 0;
    size_t value_size = 0;
    DB_MULTIPLE_KEY_NEXT(row, &range->bulk, key, key_size, value, value_size);
    if (key == NULL)
        return false;
    *key_out = kx_slice(key, key_size);
    *value_out = kx_slice(value, value_size);
    return range->end.size == 0 || kx_compare(*key_out, range->end) < 0;
}

size_t range_bytes(const struct range *range)
{
    return range->given;
}

void range_end(struct range *range)
{
    if (range->cursor == NULL)
        return;
    range->cursor->close(range->cursor);
    range->cursor = NULL;
    if (range->fetched.capacity > KEPT_MAX)
        kx_buffer_free(&range->fetched);
}
