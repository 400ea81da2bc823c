/* The JSON in which an index sees a stored value of any encoding. */
#ifndef INDEX_DOCUMENT_H
#define INDEX_DOCUMENT_H

#include "base/charge.h"
#include "entry/record.h"

/* A V8 value and its text, kept because each index reads the same value. */
struct index_document {
    struct kx_buffer source; /* the value; size 0: no text is kept */
    struct kx_buffer text;
    struct charge *charge; /* pays for decoding; NULL: not counted */
    enum kx_status status;
    bool plain; /* the text is the value as plain JSON, with nothing left out */
};

/* Makes an empty document, which allocates under owner (a talloc context). */
void index_document_init(struct index_document *document, void *owner);

/* The value of a record as valid JSON, from which fields, conditions and stored
 * members are taken. It lies in the record or in the document, and is valid
 * until the next call. KX_OK; KX_ABSENT: the value has no members;
 * KX_NO_MEMORY. */
enum kx_status index_document_text(struct index_document *document,
                                   const struct record *record,
                                   struct kx_slice *text_out);

/* The same of a value, for conditions: the text is empty if it has no members.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status index_document_of_value(struct index_document *document,
                                       const struct kx_value *value,
                                       struct kx_slice *text_out);

#endif
