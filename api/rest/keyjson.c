/* Keys that clients write as JSON arrays. */
#include "rest/keyjson.h"

bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct input_error *flaw)
{
    struct kx_fault fault = {0};
    fault.status = kx_key_from_json(array, key, &fault);
    return fault.status == KX_OK || input_error_fault(flaw, &fault);
}

bool keyjson_read_entry(struct kx_slice array, const void *memory,
                        struct kx_slice *key_out, struct input_error *flaw)
{
    struct kx_buffer key;
    kx_buffer_init(&key, memory);
    if (!keyjson_read(array, &key, flaw))
        return false;
    if (key.size == 0)
        return input_error_set(flaw, PROBLEM_BAD_KEY, "The key has no parts.");
    if (key.size > KX_KEY_MAX)
        return input_error_set(
            flaw, PROBLEM_KEY_TOO_LONG,
            "The key has %zu encoded bytes; the limit is %d.", key.size,
            KX_KEY_MAX);
    *key_out = kx_buffer_slice(&key);
    return true;
}

bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct input_error *flaw)
{
    struct kx_fault fault = {0};
    if (kx_json_check(text, &fault) != KX_OK)
        return input_error_fault(flaw, &fault);
    return keyjson_read(text, key, flaw);
}
