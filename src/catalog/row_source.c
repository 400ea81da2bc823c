/* From an index row back to its entry, and from the entry to the row that it
 * should have. */
#include "catalog/row_source.h"

#include "engine/engine.h"

void row_source_init(struct row_source *source, void *mem,
                     struct engine_view *view, const struct index *index)
{
    source->view = view;
    source->index = index;
    source->read = 0;
    kx_buffer_init(&source->key, mem);
    kx_buffer_init(&source->bytes, mem);
    extract_init(&source->extract, mem);
}

static enum kx_status read_entry(struct row_source *source,
                                 struct kx_slice index_key,
                                 const struct record *row)
{
    const struct declaration *declaration = source->index->declaration;
    source->key.size = 0;
    kx_add_slice(&source->key, declaration->prefix);
    kx_add_slice(&source->key, record_owner(row, index_key));
    if (source->key.failed)
        return KX_NO_MEMORY;
    struct kx_slice key = kx_buffer_slice(&source->key);
    if (!declaration_covers(declaration, key))
        return KX_ABSENT;
    enum kx_status status =
        engine_get(source->view, TABLE_ENTRIES, key, &source->bytes);
    if (status != KX_OK)
        return status;
    source->read += source->bytes.size;
    if (!record_read(kx_buffer_slice(&source->bytes), &source->record))
        return KX_FAILED;
    return source->record.index == 0 ? KX_OK : KX_ABSENT;
}

enum kx_status row_source_find(struct row_source *source,
                               struct kx_slice index_key,
                               const struct record *row)
{
    enum kx_status status = read_entry(source, index_key, row);
    if (status == KX_OK)
        status = extract_one(&source->extract, source->index->declaration,
                             kx_buffer_slice(&source->key), &source->record,
                             index_key);
    return status;
}
