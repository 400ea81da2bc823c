/* Equality of two values. With it, index entries that a client writes are
 * compared with the index's own, in any protocol and encoding. */
#include "v8/v8_normalize.h"
#include "entry/value.h"

/* Compares values of one encoding: JSON by value, others by bytes. */
static bool plainly_equal(const struct kx_value *a, const struct kx_value *b)
{
    if (a->encoding == KX_JSON)
        return kx_json_equal(a->data, b->data);
    return kx_equal(a->data, b->data) && kx_equal(a->media_type, b->media_type);
}

/* A V8 value that JSON cannot show is compared in its normalized form. */
static enum kx_status show(const struct kx_value *value, struct kx_buffer *out,
                           bool *plain_out)
{
    struct kx_value shown = *value;
    struct kx_buffer normal;
    kx_buffer_init(&normal, out->owner);
    enum kx_status status = KX_OK;
    if (value->encoding == KX_V8)
        status = v8_normalize(value->data, &normal);
    if (status == KX_OK && value->encoding == KX_V8)
        shown.data = kx_buffer_slice(&normal);
    *plain_out = kx_value_to_json(&shown, out);
    kx_buffer_free(&normal);
    return out->failed || status == KX_NO_MEMORY ? KX_NO_MEMORY : KX_OK;
}

enum kx_status value_equal(const struct kx_value *a, const struct kx_value *b,
                           const void *memory, bool *equal_out)
{
    struct kx_buffer texts[2];
    bool plain[2] = {false, false};
    *equal_out = a->encoding == b->encoding && plainly_equal(a, b);
    if (*equal_out || (a->encoding == b->encoding && a->encoding != KX_V8))
        return KX_OK;
    kx_buffer_init(&texts[0], memory);
    kx_buffer_init(&texts[1], memory);
    enum kx_status status = show(a, &texts[0], &plain[0]);
    if (status == KX_OK)
        status = show(b, &texts[1], &plain[1]);
    if (status == KX_OK)
        *equal_out =
            plain[0] == plain[1] && kx_json_equal(kx_buffer_slice(&texts[0]),
                                                  kx_buffer_slice(&texts[1]));
    kx_buffer_free(&texts[0]);
    kx_buffer_free(&texts[1]);
    return status;
}
