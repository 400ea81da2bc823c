/* Values in the typed form of Deno's kv-utils: what is read can be shown, and
 * read again as the same value. */
#include "fuzz.h"
#include "v8_holds.h"

void fuzz(struct kx_slice input, void *memory)
{
    struct kx_value value;
    struct kx_fault fault = {.detail = ""};
    if (kx_json_check(input, NULL) != KX_OK)
        return;
    enum kx_status status = kx_value_from_typed(input, memory, &value, &fault);
    if (status != KX_OK) {
        assert_int_equal(status, KX_BAD_VALUE);
        assert_true(fault.detail[0] != '\0');
        return;
    }
    if (value.encoding == KX_V8)
        assert_true(v8_holds(value.data, memory));
    else
        v8_shows(&value, memory);
    kx_value_is_number(&value, memory);
}
