/* Values that a client gives or sees, and the parts of index keys that they
 * are. */
#include "schema/extract.h"
#include "schema/indexable.h"

static struct kx_slice take_part(struct kx_slice *parts)
{
    struct kx_slice part = kx_slice(parts->data, kx_part_size(*parts));
    *parts = kx_slice(parts->data + part.size, parts->size - part.size);
    return part;
}

static enum kx_status add_part(const struct declaration *declaration, size_t n,
                               struct kx_slice part, struct kx_buffer *key)
{
    size_t at = key->size;
    if (n >= declaration->field_count)
        return indexable_fold(part, FOLD_NONE, key);
    const struct field *field = &declaration->fields[n];
    enum kx_status status = indexable_fold(part, field->fold, key);
    if (status != KX_OK || key->failed)
        return status;
    if (field_of_value(field) && !declaration->signed_zero)
        indexable_unsign(key, at);
    return field->descending ? indexable_descend(key, at) : KX_OK;
}

enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out)
{
    enum kx_status status = KX_OK;
    kx_buffer_clear(key_out);
    kx_add_slice(key_out, declaration->name_key);
    for (size_t n = 0; status == KX_OK && parts.size > 0; n++) {
        struct kx_slice part = take_part(&parts);
        if (part.size == 0)
            return KX_BAD_KEY;
        status = add_part(declaration, n, part, key_out);
    }
    return key_out->failed ? KX_NO_MEMORY : status;
}

void extract_lookup_values(const struct declaration *declaration,
                           struct kx_slice parts, struct kx_buffer *out)
{
    for (size_t n = 0; n < declaration->field_count; n++) {
        struct kx_slice part = take_part(&parts);
        if (!declaration->fields[n].descending ||
            indexable_ascend(part, out) == KX_BAD_KEY)
            kx_add_slice(out, part);
    }
    kx_add_slice(out, parts);
}
