/* JSON texts: Jansson agrees whether a text is one and what it says, and it
 * stays the same value when V8 has carried it. */
#include "fuzz.h"
#include "json_second.h"

enum { V8_TEXT_MAX = 4096 };

/* The text, as Jansson writes it. */
static void rewritten(struct kx_slice text, const json_t *json)
{
    char *dump = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    assert_non_null(dump);
    assert_true(kx_json_equal(text, kx_text(dump)));
    assert_true(kx_json_equal(kx_text(dump), text));
    free(dump);
}

static void carried(struct kx_slice text, void *memory)
{
    struct kx_buffer v8, back;
    struct kx_fault fault;
    kx_buffer_init(&v8, memory);
    kx_buffer_init(&back, memory);
    kx_v8_from_json(text, &v8);
    enum kx_status status = kx_v8_check(kx_buffer_slice(&v8), memory, &fault);
    if (status != KX_OK)
        fail_msg("%s", fault.detail);
    status = kx_v8_to_json(kx_buffer_slice(&v8), &back);
    if (status == KX_ABSENT) /* JavaScript writes -0 as 0 */
        assert_non_null(memchr(text.data, '-', text.size));
    else
        assert_true(status == KX_OK &&
                    kx_json_check(kx_buffer_slice(&back), NULL) == KX_OK &&
                    kx_json_equal(text, kx_buffer_slice(&back)));
}

void fuzz(struct kx_slice input, void *memory)
{
    json_t *json = second_compare(input);
    if (json == NULL)
        return;
    rewritten(input, json);
    if (input.size <= V8_TEXT_MAX)
        carried(input, memory);
    json_decref(json);
}
