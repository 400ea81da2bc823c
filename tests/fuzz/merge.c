/* A merge patch and a projection: target, patch and JSON Pointers (separated by
 * spaces), one on each line. The patched text is what RFC 7396 says, reckoned
 * on Jansson's trees; what is projected is in the text. */
#include "fuzz.h"
#include "json_second.h"

/* Section 2 of the RFC, line by line. Takes over the target. */
static json_t *merge(json_t *target, json_t *patch)
{
    const char *name;
    json_t *value;
    if (!json_is_object(patch)) {
        json_decref(target);
        return json_deep_copy(patch);
    }
    if (!json_is_object(target)) {
        json_decref(target);
        target = json_object();
    }
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value))
            json_object_del(target, name);
        else
            json_object_set_new(
                target, name,
                merge(json_incref(json_object_get(target, name)), value));
    }
    return target;
}

static void patched(struct kx_slice target, struct kx_slice patch, void *memory)
{
    struct kx_buffer out;
    json_error_t error;
    kx_buffer_init(&out, memory);
    json_t *first = second_read(target, &error);
    json_t *second = second_read(patch, &error);
    kx_json_merge(target, patch, &out);
    assert_false(out.failed);
    assert_int_equal(kx_json_check(kx_buffer_slice(&out), NULL), KX_OK);
    if (first != NULL && second != NULL) {
        first = merge(first, second);
        second_same(kx_buffer_slice(&out), first);
    }
    json_decref(first);
    json_decref(second);
}

/* Pointers that a projection takes: at most so many, none covers another. */
static size_t take_paths(struct kx_slice line, struct kx_slice *paths)
{
    size_t count = 0;
    while (line.size > 0 && count < KX_PROJECTION_MAX) {
        struct kx_slice path = fuzz_until(&line, ' ');
        bool fits = path.size > 0 && kx_pointer_valid(path);
        for (size_t i = 0; fits && i < count; i++)
            fits = !kx_pointer_covers(paths[i], path) &&
                   !kx_pointer_covers(path, paths[i]);
        if (fits)
            paths[count++] = path;
    }
    return count;
}

static void projected(struct kx_slice text, struct kx_slice line, void *memory)
{
    struct kx_slice paths[KX_PROJECTION_MAX];
    struct kx_slice in_text, in_out;
    struct kx_buffer out;
    size_t count = take_paths(line, paths);
    if (count == 0)
        return;
    kx_buffer_init(&out, memory);
    kx_json_project(text, paths, count, &out);
    assert_false(out.failed);
    assert_int_equal(kx_json_check(kx_buffer_slice(&out), NULL), KX_OK);
    for (size_t i = 0; i < count; i++)
        if (kx_json_find(kx_buffer_slice(&out), paths[i], &in_out)) {
            assert_true(kx_json_find(text, paths[i], &in_text));
            assert_true(kx_json_equal(in_text, in_out));
        }
}

void fuzz(struct kx_slice input, void *memory)
{
    struct kx_slice target = fuzz_alone(fuzz_until(&input, '\n'), memory);
    struct kx_slice patch = fuzz_alone(fuzz_until(&input, '\n'), memory);
    if (kx_json_check(target, NULL) != KX_OK)
        return;
    if (kx_json_check(patch, NULL) == KX_OK)
        patched(target, patch, memory);
    projected(target, input, memory);
}
