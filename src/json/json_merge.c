/* JSON Merge Patch (RFC 7396) on texts. Members that the patch does not name
 * are copied with the white space around them, so that a patch keeps the layout
 * of a document. The recursion is as deep as the patch is. */
#include "kindex/json.h"

#include "json/json_members.h"

/* The object being written. */
struct merge {
    struct kx_buffer *out;
    bool some; /* it has a member already */
};

static void merge_value(struct kx_slice target, struct kx_slice patch,
                        struct kx_buffer *out);

/* Copies the bytes from the end of the previous member to this one: a comma and
 * white space. The comma is left out before the first member written. */
static void add_gap(struct merge *merge, const uint8_t *start,
                    const uint8_t *end)
{
    struct kx_slice gap = kx_slice(start, (size_t)(end - start));
    const uint8_t *comma = memchr(gap.data, ',', gap.size);
    if (!merge->some && comma != NULL)
        gap = kx_slice(comma + 1, (size_t)(end - comma - 1));
    kx_add_slice(merge->out, gap);
    merge->some = true;
}

/* Writes the target's members: kept, changed or left out. */
static void merge_old(struct merge *merge, struct kx_json_iter *target,
                      struct json_members *patch)
{
    struct kx_slice name;
    struct kx_slice old;
    struct kx_slice new;
    const uint8_t *end = target->rest.data;
    for (; kx_json_next(target, &name, &old); end = target->rest.data) {
        bool change = json_members_find(patch, name, &new);
        if (change && kx_json_type(new) == KX_JSON_NULL)
            continue;
        add_gap(merge, end, name.data);
        kx_add(merge->out, name.data, (size_t)(old.data - name.data));
        if (change)
            merge_value(old, new, merge->out);
        else
            kx_add_slice(merge->out, old);
    }
}

/* Writes the members that only the patch has, in its order. */
static void merge_new(struct merge *merge, struct kx_json_iter iter,
                      const struct json_members *patch)
{
    struct kx_slice name;
    struct kx_slice value;
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_json_type(value) == KX_JSON_NULL ||
            json_members_found(patch, name))
            continue;
        if (merge->some)
            kx_add_byte(merge->out, ',');
        merge->some = true;
        kx_add_slice(merge->out, name);
        kx_add_byte(merge->out, ':');
        merge_value(kx_slice(NULL, 0), value, merge->out);
    }
}

/* The target's closing bracket is copied with the remainder of the target,
 * including the white space before it. */
static void merge_object(struct kx_slice target, struct kx_slice patch,
                         struct kx_buffer *out)
{
    struct merge merge = {.out = out};
    struct json_members members;
    struct kx_json_iter old;
    struct kx_json_iter new;
    kx_json_iterate(target, &old);
    kx_json_iterate(patch, &new);
    if (json_members_read(&members, patch)) {
        kx_add_byte(out, '{');
        merge_old(&merge, &old, &members);
        merge_new(&merge, new, &members);
        kx_add_slice(out, old.rest);
    } else {
        out->failed = true;
    }
    json_members_free(&members);
}

/* Both texts have no white space around them; an empty target means that there
 * was no value. */
static void merge_value(struct kx_slice target, struct kx_slice patch,
                        struct kx_buffer *out)
{
    if (kx_json_type(patch) != KX_JSON_OBJECT)
        kx_add_slice(out, patch);
    else if (target.size > 0 && kx_json_type(target) == KX_JSON_OBJECT)
        merge_object(target, patch, out);
    else
        merge_object(kx_text("{}"), patch, out);
}

void kx_json_merge(struct kx_slice target, struct kx_slice patch,
                   struct kx_buffer *out)
{
    kx_json_find(patch, kx_text(""), &patch);
    if (target.size > 0)
        kx_json_find(target, kx_text(""), &target);
    merge_value(target, patch, out);
}
