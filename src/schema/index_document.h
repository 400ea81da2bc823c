/* The JSON that an index sees of a stored value, whatever its encoding. */
#ifndef INDEX_DOCUMENT_H
#define INDEX_DOCUMENT_H

#include "entry/record.h"

/* A value of JavaScript's and its text. It is kept, for the same value is
 * looked at once by each index. */
struct index_document {
    struct kx_buffer source; /* the value; size 0: none yet */
    struct kx_buffer text;
    enum kx_status status;
    bool plain; /* the text is the value as plain JSON, with nothing left out */
};

/* An empty one whose memory is owner's (a talloc context). */
void index_document_init(struct index_document *document, void *owner);

/* Checked JSON text for the value of a record: what fields, conditions and
 * stored members are taken from. It lies in the record or the document, valid
 * until the next call. KX_OK; KX_ABSENT: the value has no members;
 * KX_NO_MEMORY. */
enum kx_status index_document_text(struct index_document *document,
                                   const struct record *record,
                                   struct kx_slice *text_out);

#endif
