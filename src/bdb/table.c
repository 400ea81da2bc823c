/* Point reads, into memory of the caller, outside of any transaction: the view
 * keeps writes out meanwhile. */
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

/* Reads only the first pages of a value on overflow pages. */
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
