#include "json_exact.h"

enum kx_status json_exact_check(struct kx_slice text, struct kx_fault *fault)
{
    uint8_t *exact = malloc(text.size + (text.size == 0));
    assert_non_null(exact);
    if (text.size > 0)
        memcpy(exact, text.data, text.size);
    enum kx_status status = kx_json_check(kx_slice(exact, text.size), fault);
    free(exact);
    return status;
}
