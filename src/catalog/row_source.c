/* From a row back to its entry, and from that to what the row should be. */
#include "catalog/row_source.h"

#include "bdb/table.h"

void row_source_init(struct row_source *stand, void *mem, struct env *env,
                     const struct index *index)
{
    stand->env = env;
    stand->index = index;
    stand->read = 0;
    kx_buffer_init(&stand->key, mem);
    kx_buffer_init(&stand->bytes, mem);
    extract_init(&stand->extract, mem);
}

static enum kx_status read_entry(struct row_source *stand,
                                 struct kx_slice index_key,
                                 const struct record *row)
{
    const struct declaration *declaration = stand->index->declaration;
    stand->key.size = 0;
    kx_add_slice(&stand->key, declaration->prefix);
    kx_add_slice(&stand->key, record_owner(row, index_key));
    if (stand->key.failed)
        return KX_NO_MEMORY;
    struct kx_slice key = kx_buffer_slice(&stand->key);
    if (!declaration_covers(declaration, key))
        return KX_ABSENT;
    enum kx_status status =
        table_get(stand->env, TABLE_ENTRIES, key, &stand->bytes);
    if (status != KX_OK)
        return status;
    stand->read += stand->bytes.size;
    if (!record_read(kx_buffer_slice(&stand->bytes), &stand->record))
        return KX_FAILED;
    return stand->record.index == 0 ? KX_OK : KX_ABSENT;
}

enum kx_status row_source_find(struct row_source *stand,
                               struct kx_slice index_key,
                               const struct record *row)
{
    enum kx_status status = read_entry(stand, index_key, row);
    if (status == KX_OK)
        status = extract_one(&stand->extract, stand->index->declaration,
                             kx_buffer_slice(&stand->key), &stand->record,
                             index_key);
    return status;
}
