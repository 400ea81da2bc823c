/* JSON values are used unchanged. A V8 value is decoded once for all indexes.
 */
#include "schema/index_document.h"

#include "entry/v8_json.h"

void index_document_init(struct index_document *document, void *owner)
{
    kx_buffer_init(&document->source, owner);
    kx_buffer_init(&document->text, owner);
    document->charge = NULL;
    document->status = KX_ABSENT;
    document->plain = false;
}

/* A value that cannot be decoded has no members. If memory runs out, nothing is
 * kept. */
static void decode(struct index_document *document, struct kx_slice value)
{
    kx_buffer_clear(&document->text);
    kx_buffer_clear(&document->source);
    document->status = v8_fields(value, &document->text, &document->plain);
    charge_add(document->charge, value.size + document->text.size,
               CHARGE_STORED);
    if (document->status != KX_OK && document->status != KX_NO_MEMORY)
        document->status = KX_ABSENT;
    if (document->status != KX_NO_MEMORY)
        kx_add_slice(&document->source, value);
}

enum kx_status index_document_text(struct index_document *document,
                                   const struct record *record,
                                   struct kx_slice *text_out)
{
    if (record->encoding == KX_JSON) {
        *text_out = record->value;
        return KX_OK;
    }
    if (record->encoding != KX_V8)
        return KX_ABSENT;
    if (!kx_equal(kx_buffer_slice(&document->source), record->value))
        decode(document, record->value);
    *text_out = kx_buffer_slice(&document->text);
    return document->status;
}

enum kx_status index_document_of_value(struct index_document *document,
                                       const struct kx_value *value,
                                       struct kx_slice *text_out)
{
    struct record record = {.encoding = value->encoding, .value = value->data};
    enum kx_status status = index_document_text(document, &record, text_out);
    if (status == KX_OK || status == KX_NO_MEMORY)
        return status;
    *text_out = kx_slice(NULL, 0);
    return KX_OK;
}
