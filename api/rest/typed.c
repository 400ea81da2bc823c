/* Typed values in requests: what the core finds wrong with one as a flaw. */
#include "rest/typed.h"

bool typed_read(struct kx_slice json, const void *memory,
                struct kx_value *value_out, struct input_error *flaw)
{
    struct kx_fault fault = {.status = KX_OK};
    fault.status = kx_value_from_typed(json, memory, value_out, &fault);
    return fault.status == KX_OK || input_error_fault(flaw, &fault);
}
