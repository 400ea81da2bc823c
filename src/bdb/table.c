/* Point reads, into memory of the caller, outside of any transaction: meanwhile
 * the view keeps writes out. */
#include "bdb/table.h"

#include "bdb/bdb.h"

static const char *const FILES[TABLE_COUNT] = {
    [TABLE_ENTRIES] = "entries.db",
    [TABLE_EXPIRY] = "expiry.db",
    [TABLE_CATALOG] = "catalog.db",
};

const char *table_file(enum table table)
{
    return FILES[table];
}

enum kx_status table_get(struct env *env, enum table table, struct kx_slice key,
                         struct kx_buffer *value)
{
    DB *db = env->tables[table];
    DBT name = bdb_in(key);
    kx_buffer_clear(value);
    for (;;) {
        DBT out = {.data = value->data,
                   .ulen = (u_int32_t)value->capacity,
                   .flags = DB_DBT_USERMEM};
        int error = db->get(db, NULL, &name, &out, 0);
        if (error == 0) {
            value->size = out.size;
            return KX_OK;
        }
        if (error != DB_BUFFER_SMALL)
            return bdb_status(env, error, "get");
        if (!kx_buffer_reserve(value, out.size))
            return KX_NO_MEMORY;
    }
}

/* Of a value on overflow pages only the first pages are read. */
enum kx_status table_get_head(struct env *env, enum table table,
                              struct kx_slice key, size_t size,
                              struct kx_buffer *value)
{
    DB *db = env->tables[table];
    DBT name = bdb_in(key);
    kx_buffer_clear(value);
    if (!kx_buffer_reserve(value, size))
        return KX_NO_MEMORY;
    DBT out = {.data = value->data,
               .ulen = (u_int32_t)value->capacity,
               .dlen = (u_int32_t)size,
               .flags = DB_DBT_USERMEM | DB_DBT_PARTIAL};
    int error = db->get(db, NULL, &name, &out, 0);
    if (error != 0)
        return bdb_status(env, error, "get");
    value->size = out.size;
    return KX_OK;
}

/* The share of rows before key, from the tree's upper levels; 0 if that is not
 * known. */
static double share_before(DB *db, struct kx_slice key)
{
    DBT name = bdb_in(key);
    DB_KEY_RANGE share = {0};
    if (db->key_range(db, NULL, &name, &share, 0) != 0)
        return 0;
    return share.less;
}

double table_share(struct env *env, enum table table, struct kx_slice start,
                   struct kx_slice end)
{
    DB *db = env->tables[table];
    double below = start.size == 0 ? 0 : share_before(db, start);
    double above = end.size == 0 ? 1 : share_before(db, end);
    return above > below ? above - below : 0;
}

/* ---- The place of a share ----------------------------------------------- */

/* Descents of the tree at most. A byte of a key takes nine of them, so this is
 * enough for the bytes in which the keys of most ranges differ. */
enum { DESCENTS_MAX = 512 };

struct bisection {
    DB *db;
    struct kx_buffer *key;
    double target; /* rows before the key: at most this share of all */
    double enough; /* a part of the rows so small need not be divided */
    unsigned descents;
};

static double share_before_next(struct bisection *bisection, unsigned byte)
{
    kx_add_byte(bisection->key, (uint8_t)byte);
    double share = share_before(bisection->db, kx_buffer_slice(bisection->key));
    bisection->key->size--;
    bisection->descents++;
    return share;
}

/* Finds the next byte of the key. False: the key is the place. */
static bool add_byte(struct bisection *bisection)
{
    unsigned low = 0;
    unsigned high = 0x100;
    double before_low = share_before_next(bisection, low);
    double before_high = 2;
    if (before_low > bisection->target)
        return false;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        double before = share_before_next(bisection, middle);
        *(before > bisection->target ? &high : &low) = middle;
        *(before > bisection->target ? &before_high : &before_low) = before;
    }
    kx_add_byte(bisection->key, (uint8_t)low);
    return before_high - before_low > bisection->enough;
}

static size_t common_size(struct kx_slice a, struct kx_slice b)
{
    size_t size = 0;
    while (size < a.size && size < b.size && a.data[size] == b.data[size])
        size++;
    return size;
}

/* Byte by byte: to look up a row by its number is more than the tree can do. */
enum kx_status table_find_share(struct env *env, enum table table,
                                const struct engine_place *place,
                                struct kx_buffer *key)
{
    DB *db = env->tables[table];
    struct kx_slice start = place->start;
    struct kx_slice end = place->end;
    double before = start.size == 0 ? 0 : share_before(db, start);
    double part = table_share(env, table, start, end);
    struct bisection bisection = {.db = db,
                                  .key = key,
                                  .target = before + place->share * part,
                                  .enough = part / 1000};
    kx_buffer_clear(key);
    kx_add(key, start.data, common_size(start, end));
    kx_buffer_reserve(key, ROW_KEY_MAX);
    while (!key->failed && key->size < ROW_KEY_MAX - 1 &&
           bisection.descents < DESCENTS_MAX && add_byte(&bisection))
        ;
    struct kx_slice nearest = start;
    if (kx_compare(kx_buffer_slice(key), end) >= 0)
        nearest = end;
    else if (kx_compare(kx_buffer_slice(key), start) >= 0)
        return key->failed ? KX_NO_MEMORY : KX_OK;
    kx_buffer_clear(key);
    kx_add_slice(key, nearest);
    return key->failed ? KX_NO_MEMORY : KX_OK;
}
