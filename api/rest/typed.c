/* Reads typed values in requests, and reports a fault of the core as an input
 * error. */
#include "rest/typed.h"

bool typed_read(struct kx_slice json, const void *memory,
                struct kx_value *value_out, struct input_error *flaw)
{
    struct kx_fault fault = {.status = KX_OK};
    fault.status = kx_value_from_typed(json, memory, value_out, &fault);
    return fault.status == KX_OK || input_error_fault(flaw, &fault);
}
