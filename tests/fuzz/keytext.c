/* Keys as people and programs write them: a JSON array when the text begins
 * with '[', else a path. What is read is a key, and has one canonical text. */
#include "fuzz.h"
#include "rest/key_text.h"

typedef bool read_fn(struct kx_slice text, struct kx_buffer *key,
                     struct input_error *flaw);
typedef void write_fn(struct kx_slice key, struct kx_buffer *out);

static void try_form(read_fn *read, write_fn *write, struct kx_slice text,
                     void *memory)
{
    struct kx_buffer key, again, canonical;
    struct input_error flaw = {.detail = ""};
    kx_buffer_init(&key, memory);
    kx_buffer_init(&again, memory);
    kx_buffer_init(&canonical, memory);
    if (!read(text, &key, &flaw)) {
        assert_true(flaw.detail[0] != '\0');
        return;
    }
    enum kx_status status = kx_key_check(kx_buffer_slice(&key), NULL);
    if (key.size > KX_KEY_MAX)
        assert_int_equal(status, KX_KEY_TOO_LONG);
    if (key.size == 0 || key.size > KX_KEY_MAX)
        return;
    assert_int_equal(status, KX_OK);
    write(kx_buffer_slice(&key), &canonical);
    if (!read(kx_buffer_slice(&canonical), &again, &flaw))
        fail_msg("%s: %.*s", flaw.detail, (int)canonical.size, canonical.data);
    assert_true(kx_equal(kx_buffer_slice(&key), kx_buffer_slice(&again)));
}

void fuzz(struct kx_slice input, void *memory)
{
    if (input.size > 0 && input.data[0] == '[')
        try_form(key_text_from_any_json, kx_key_to_json, input, memory);
    else
        try_form(key_text_from_path, key_text_to_path, input, memory);
}
