/* Values that are JSON texts are taken as they are. */
#include "document.h"

enum kx_status document_text(const struct record *record,
                             struct kx_buffer *scratch,
                             struct kx_slice *text_out)
{
    (void)scratch;
    if (record->encoding != KX_JSON)
        return KX_ABSENT;
    *text_out = record->value;
    return KX_OK;
}
