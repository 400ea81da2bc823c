/* Two encoded keys: each is refused or comes back as it was, also by way of
 * JSON and of a path, and they sort as their parts do. The first byte says how
 * long the first one is. */
#include "fuzz.h"
#include "key_holds.h"
#include "rest/key_text.h"

static void by_json(struct kx_slice key, void *memory)
{
    struct kx_buffer json, back;
    struct input_error flaw;
    kx_buffer_init(&json, memory);
    kx_buffer_init(&back, memory);
    kx_key_to_json(key, &json);
    if (!key_text_from_any_json(kx_buffer_slice(&json), &back, &flaw))
        fail_msg("%s: %.*s", flaw.detail, (int)json.size, json.data);
    assert_true(kx_equal(kx_buffer_slice(&back), key));
}

static void by_path(struct kx_slice key, void *memory)
{
    struct kx_buffer path, back;
    struct input_error flaw;
    kx_buffer_init(&path, memory);
    kx_buffer_init(&back, memory);
    key_text_to_path(key, &path);
    if (!key_text_from_path(kx_buffer_slice(&path), &back, &flaw))
        fail_msg("%s: %.*s", flaw.detail, (int)path.size, path.data);
    assert_true(kx_equal(kx_buffer_slice(&back), key));
}

/* The canonical form of a key; empty for anything else. */
static struct kx_slice canonical(struct kx_slice bytes, void *memory)
{
    struct kx_buffer again, third;
    kx_buffer_init(&again, memory);
    kx_buffer_init(&third, memory);
    if (!key_read_again(fuzz_alone(bytes, memory), &again))
        return kx_slice(NULL, 0);
    struct kx_slice key = kx_buffer_slice(&again);
    assert_true(key_read_again(key, &third));
    assert_true(kx_equal(kx_buffer_slice(&third), key));
    if (key.size <= KX_KEY_MAX) {
        by_json(key, memory);
        by_path(key, memory);
    }
    return key;
}

static void compare(struct kx_slice a, struct kx_slice b)
{
    static struct kx_key_reader readers[2];
    struct kx_part parts[2];
    int order = 0;
    kx_key_read(&readers[0], a);
    kx_key_read(&readers[1], b);
    while (order == 0) {
        bool more[2] = {kx_key_next(&readers[0], &parts[0]) == KX_OK,
                        kx_key_next(&readers[1], &parts[1]) == KX_OK};
        if (!more[0] || !more[1]) {
            order = (int)more[0] - (int)more[1];
            break;
        }
        order = key_compare_parts(&parts[0], &parts[1]);
    }
    int bytes = kx_compare(a, b);
    assert_int_equal((bytes > 0) - (bytes < 0), (order > 0) - (order < 0));
}

void fuzz(struct kx_slice input, void *memory)
{
    size_t first = fuzz_byte(&input);
    struct kx_slice a = canonical(fuzz_take(&input, first), memory);
    struct kx_slice b = canonical(input, memory);
    if (a.size > 0 && b.size > 0)
        compare(a, b);
}
