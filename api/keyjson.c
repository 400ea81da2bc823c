/* Keys that clients write as JSON arrays. */
#include "keyjson.h"

bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct flaw *flaw)
{
    struct kx_fault fault = {0};
    fault.status = kx_key_from_json(array, key, &fault);
    return fault.status == KX_OK || flaw_fault(flaw, &fault);
}

bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct flaw *flaw)
{
    struct kx_fault fault = {0};
    if (kx_json_check(text, &fault) != KX_OK)
        return flaw_fault(flaw, &fault);
    return keyjson_read(text, key, flaw);
}
