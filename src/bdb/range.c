/* Range scans and series of look-ups on one Berkeley DB cursor. Forward scans
 * fetch whole pages at a time; the library can do that forward only.
 *
 * A cursor is closed before a batch is applied: a view ends its scans, and the
 * writer its own, so that no cursor is on a page that changes. */
#include "bdb/range.h"

#include <talloc.h>

#include "bdb/bdb.h"
#include "engine/shadow.h"

/* A first fetch is small, for most scans are; it grows as a scan goes on. */
enum {
    FETCH_MIN = 8 << 10,
    FETCH_MAX = 64 << 10,
    KEPT_MAX = 2 * FETCH_MAX /* bytes, from scan to scan */
};

/* Absent rows of a gap that are passed over one by one: a new descent of the
 * tree costs more. */
enum { GAP_FEW = 8 };

/* At most 2^WAIT_BITS look-ups pass between two tries of the next row. */
enum { WAIT_BITS = 5 };

struct range {
    struct engine_range engine; /* first, so that one pointer is both */
    struct env *env;
    DB *db;
    DBC *cursor;
    struct kx_slice end;
    struct kx_slice start;
    bool reverse;
    bool fresh;      /* nothing was fetched yet */
    unsigned wait;   /* look-ups to go down the tree for, before trying the
                      * next row again */
    unsigned misses; /* failed tries since the last that succeeded */
    struct kx_buffer fetched; /* a page of rows, or one value */
    size_t page_size;         /* bytes of the next page of rows */
    size_t given;             /* bytes of values, since range_begin */
    struct kx_buffer key;     /* of one row */
    DBT bulk;
    void *next_row; /* the library's position in bulk, NULL: used up */
    const struct shadow *shadow; /* NULL: never one */
    size_t shadow_low;           /* of its changes those in [low, high) lie */
    size_t shadow_high;          /* before the scan */
    bool held; /* the table's next row is known, and comes after them */
    enum kx_status held_status;
    struct kx_slice held_key;
    struct kx_slice held_value;
};

/* Makes room for the first row; an earlier failure of a buffer is reset. */
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

void range_set_shadow(struct range *range, const struct shadow *shadow)
{
    range->shadow = shadow;
}

/* Which changes of the shadow lie within the bounds. */
static void enter_shadow(struct range *range)
{
    const struct shadow *shadow = range->shadow;
    range->held = false;
    range->shadow_low = 0;
    range->shadow_high = 0;
    if (shadow == NULL || shadow->count == 0)
        return;
    range->shadow_low =
        shadow_lower_bound(shadow->changes, shadow->count, range->start);
    range->shadow_high =
        range->end.size == 0
            ? shadow->count
            : shadow_lower_bound(shadow->changes, shadow->count, range->end);
    if (range->shadow_high < range->shadow_low)
        range->shadow_high = range->shadow_low;
}

static enum kx_status open_cursor(struct range *range)
{
    if (!make_room(range))
        return KX_NO_MEMORY;
    int error = range->db->cursor(range->db, NULL, &range->cursor, 0);
    if (error != 0)
        range->cursor = NULL;
    return bdb_status(range->env, error, "cursor");
}

/* The next row is looked up in the tree. */
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
    enter_shadow(range);
    return open_cursor(range);
}

/* The buffer for a row's key, with the key that is sought in it. */
static DBT row_key(struct range *range, struct kx_slice sought)
{
    if (sought.size != 0)
        memcpy(range->key.data, sought.data, sought.size);
    return (DBT){.data = range->key.data,
                 .size = (u_int32_t)sought.size,
                 .ulen = (u_int32_t)range->key.capacity,
                 .flags = DB_DBT_USERMEM};
}

/* One cursor call with `fetched` as the place for data, at most `room` bytes of
 * it; makes that place larger when it has to be. The key's size is set in
 * range->key, which has room for that of any row; a bound may be longer. */
static enum kx_status fetch_into(struct range *range, struct kx_slice sought,
                                 u_int32_t how, size_t room)
{
    range->key.size = 0;
    if (!kx_buffer_reserve(&range->key, sought.size))
        return KX_NO_MEMORY;
    for (;;) {
        DBT key = row_key(range, sought);
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

static enum kx_status fetch(struct range *range, struct kx_slice sought,
                            u_int32_t how)
{
    return fetch_into(range, sought, how, range->fetched.capacity);
}

/* The next rows into `fetched`. The buffer may only grow here, where no slice
 * into it is in use any more. */
static enum kx_status fetch_page(struct range *range)
{
    struct kx_slice sought = kx_slice(NULL, 0);
    u_int32_t how = DB_NEXT;
    if (range->fresh) {
        sought = range->start;
        how = sought.size == 0 ? DB_FIRST : DB_SET_RANGE;
    } else if (range->page_size < FETCH_MAX) {
        range->page_size *= 2;
    }
    range->fresh = false;
    if (!kx_buffer_reserve(&range->fetched, range->page_size))
        return KX_NO_MEMORY;
    enum kx_status status =
        fetch_into(range, sought, how | DB_MULTIPLE_KEY, range->page_size);
    if (status == KX_OK)
        DB_MULTIPLE_INIT(range->next_row, &range->bulk);
    return status;
}

/* Slices point into the fetched page, which holds until all its rows are taken.
 */
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

/* Puts the cursor on the last row below end: one before the first that is not
 * below it, or the table's last if no row is below it. */
static enum kx_status fetch_last(struct range *range)
{
    if (range->end.size != 0) {
        enum kx_status status = fetch(range, range->end, DB_SET_RANGE);
        if (status == KX_OK)
            return fetch(range, kx_slice(NULL, 0), DB_PREV);
        if (status != KX_END)
            return status;
    }
    return fetch(range, kx_slice(NULL, 0), DB_LAST);
}

static enum kx_status next_reverse(struct range *range, struct kx_slice *key,
                                   struct kx_slice *value)
{
    enum kx_status status = range->fresh
                                ? fetch_last(range)
                                : fetch(range, kx_slice(NULL, 0), DB_PREV);
    range->fresh = false;
    if (status != KX_OK)
        return status;
    *key = kx_slice(range->key.data, range->key.size);
    *value = kx_slice(range->bulk.data, range->bulk.size);
    return kx_compare(*key, range->start) < 0 ? KX_END : KX_OK;
}

/* The table's next row. */
static enum kx_status next_stored(struct range *range, struct kx_slice *key,
                                  struct kx_slice *value)
{
    return range->reverse ? next_reverse(range, key, value)
                          : next_forward(range, key, value);
}

/* The shadow's next change in the direction of the scan; NULL: no change is
 * left.
 */
static const struct net_change *next_change(const struct range *range)
{
    if (range->shadow_low == range->shadow_high)
        return NULL;
    size_t at = range->reverse ? range->shadow_high - 1 : range->shadow_low;
    return &range->shadow->changes[at];
}

/* Compares the held row with a key: < 0 if it comes first in the direction of
 * the scan. */
static int order_of_held(const struct range *range, struct kx_slice key)
{
    if (range->held_status == KX_END)
        return 1;
    int order = kx_compare(range->held_key, key);
    return range->reverse ? -order : order;
}

/* The next row of table and shadow: a row that both have is as in the shadow.
 * KX_ABSENT: there it is absent. */
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
    range->shadow_low += !range->reverse;
    range->shadow_high -= range->reverse;
    *key = change->key;
    *value = change->stored;
    return value->size != 0 ? KX_OK : KX_ABSENT;
}

/* The scan has met an absent row: the rows in the remainder of its gap are
 * absent, too. If there are many the scan continues at the last of them or, in
 * reverse, before the first. */
static void pass_gap(struct range *range)
{
    const struct net_change *changes = range->shadow->changes;
    size_t low = range->shadow_low;
    size_t high = range->shadow_high;
    uint32_t gap = changes[range->reverse ? high : low - 1].gap;
    size_t few = range->reverse ? high - 1 - GAP_FEW : low + GAP_FEW;
    if (high - low <= GAP_FEW || changes[few].gap != gap)
        return;
    if (range->reverse) {
        size_t first = shadow_gap_bound(changes, high, gap);
        range->shadow_high = first < low ? low : first;
        range->end = changes[range->shadow_high].key;
    } else {
        range->shadow_low = shadow_gap_bound(changes, high, gap + 1) - 1;
        range->start = changes[range->shadow_low].key;
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

/* False once the scan has passed all changes of the shadow. */
static bool in_shadow(const struct range *range)
{
    return range->held || range->shadow_low < range->shadow_high;
}

enum kx_status range_next(struct range *range, struct kx_slice *key_out,
                          struct kx_slice *value_out)
{
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status = in_shadow(range) ? next_merged(range, &key, &value)
                                             : next_stored(range, &key, &value);
    if (status == KX_OK) {
        *key_out = key;
        *value_out = value;
        range->given += value.size;
    }
    return status;
}

size_t range_bytes(const struct range *range)
{
    return range->given;
}

/* Is the wanted row the one after the last? Then the tree is not searched. */
static bool found_next(struct range *range, struct kx_slice key, u_int32_t how)
{
    if (fetch(range, kx_slice(NULL, 0), DB_NEXT) != KX_OK)
        return false;
    int order = kx_compare(kx_slice(range->key.data, range->key.size), key);
    return order == 0 || (order > 0 && how == DB_SET_RANGE);
}

/* After each failed try twice as many look-ups pass before the next one: a
 * series of scattered keys costs a handful of tries, and a run of neighbours
 * within it is still found. */
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

/* One of a series of look-ups, with DB_SET or DB_SET_RANGE. */
static enum kx_status look_up(struct range *range, struct kx_slice key,
                              u_int32_t how)
{
    enum kx_status status = KX_OK;
    bool found = false;
    if (range->cursor == NULL) {
        status = open_cursor(range);
        range->wait = 0;
        range->misses = 0;
    } else {
        found = tried_next(range, key, how);
    }
    if (status == KX_OK && !found)
        status = fetch(range, key, how);
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

void range_end(struct range *range)
{
    if (range->cursor == NULL)
        return;
    range->cursor->close(range->cursor);
    range->cursor = NULL;
    if (range->fetched.capacity > KEPT_MAX)
        kx_buffer_free(&range->fetched);
}
