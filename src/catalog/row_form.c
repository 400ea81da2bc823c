/* Rows with one or two forms. The second form is a complete record inside the
 * first, so either can be shown without building it. */
#include "catalog/row_form.h"

#include "engine/engine.h"

void row_form_pick(const struct index *index, struct record *row)
{
    struct record other;
    if (row->odd_form != index->form.shows_odd_form &&
        record_read(row->other, &other) && other.index == row->index)
        *row = other;
}

/* ---- Rows of two indexes ------------------------------------------------ */

bool row_form_inner(const struct record *row, struct record *inner_out)
{
    return row->other.size != 0 && record_read(row->other, inner_out) &&
           inner_out->index != row->index;
}

bool row_form_of(struct record *row, uint32_t index)
{
    struct record inner;
    if (!row_form_inner(row, &inner))
        return row->index == index;
    if (row->index == index)
        row->other = kx_slice(NULL, 0);
    else
        *row = inner;
    return row->index == index;
}

void row_form_write_both(const struct record *row, const struct record *other,
                         struct kx_buffer *out)
{
    struct kx_buffer bytes;
    struct record older = row->index < other->index ? *row : *other;
    kx_buffer_init(&bytes, out->owner);
    record_write(row->index < other->index ? other : row, &bytes);
    older.other = kx_buffer_slice(&bytes);
    record_write(&older, out);
    out->failed = out->failed || bytes.failed;
    kx_buffer_free(&bytes);
}

/* ---- Forms -------------------------------------------------------------- */

void row_form_show(const struct index *index, struct record *row)
{
    row_form_pick(index, row);
    if (row->stamp < index->form.changed_stamp)
        row->stamp = index->form.changed_stamp;
}

/* Makes the record of one form, except for its stamp. */
static enum kx_status make(const struct index *index, struct extract *extract,
                           const struct declaration *declaration, size_t n,
                           struct record *row_out)
{
    if (extract->declaration != declaration)
        extract_as(extract, declaration);
    return extract_record(extract, n, index->id, row_out);
}

static enum kx_status finish(struct record *row, uint64_t stamp,
                             const struct extract *extract,
                             struct kx_buffer *out)
{
    row->stamp = row->encoding == KX_POINTER ? stamp : extract->record->stamp;
    record_write(row, out);
    return out->failed ? KX_NO_MEMORY : KX_OK;
}

/* Appends the future form. */
static enum kx_status write_target(const struct index *index,
                                   struct extract *extract, size_t n,
                                   uint64_t stamp, struct kx_buffer *out)
{
    struct record row;
    enum kx_status status = make(index, extract, index->form.target, n, &row);
    row.odd_form = !index->form.shows_odd_form;
    return status == KX_OK ? finish(&row, stamp, extract, out) : status;
}

enum kx_status row_form_write(const struct index *index,
                              struct extract *extract, size_t n, uint64_t stamp,
                              struct kx_buffer *out)
{
    struct record row;
    struct kx_buffer other;
    kx_buffer_init(&other, out->owner);
    enum kx_status status = KX_OK;
    if (index->form.target != NULL)
        status = write_target(index, extract, n, stamp, &other);
    if (status == KX_OK)
        status = make(index, extract, index->declaration, n, &row);
    row.odd_form = index->form.shows_odd_form;
    row.other = kx_buffer_slice(&other);
    if (status == KX_OK)
        status = finish(&row, stamp, extract, out);
    kx_buffer_free(&other);
    return status;
}

enum kx_status row_form_rewrite(const struct index *index,
                                struct extract *extract, struct record *row,
                                struct kx_buffer *out)
{
    struct kx_buffer other;
    kx_buffer_init(&other, out->owner);
    row_form_pick(index, row);
    enum kx_status status = KX_OK;
    if (index->form.target != NULL)
        status = write_target(index, extract, 0, row->stamp, &other);
    row->other = kx_buffer_slice(&other);
    if (status == KX_OK)
        record_write(row, out);
    kx_buffer_free(&other);
    return out->failed ? KX_NO_MEMORY : status;
}

/* ---- From a row to its entry -------------------------------------------- */

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
