/* The check of JSON on a text whose end is the end of its memory, so that a
 * look beyond it is noticed. */
#ifndef JSON_EXACT_H
#define JSON_EXACT_H

#include "kindex.h"
#include "unit.h"

/* As kx_json_check. */
static inline enum kx_status json_exact_check(struct kx_slice text,
                                              struct kx_fault *fault)
{
    uint8_t *exact = malloc(text.size + (text.size == 0));
    assert_non_null(exact);
    if (text.size > 0)
        memcpy(exact, text.data, text.size);
    enum kx_status status = kx_json_check(kx_slice(exact, text.size), fault);
    free(exact);
    return status;
}

#endif
