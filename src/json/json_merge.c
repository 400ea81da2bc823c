/* JSON Merge Patch (RFC 7396) on texts. Members that the patch does not name
 * are copied with the white space around them, so that a document looks after
 * a patch as it did before. The recursion is as deep as the patch is. */
#include "kindex/json.h"

#include "json/json_members.h"

/* An object that is being written. */
struct merge {
    struct kx_buffer *out;
    bool some; /* it has a member already */
};

static void merge_value(struct kx_slice target, struct kx_slice patch,
                        struct kx_buffer *out);

/* From the end of the member before to this one: a comma with white space,
 * except at the first. */
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

/* The members that the target has: kept, changed or left out. */
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

/* The members that only the patch has, in its order. */
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

/* The old closing bracket comes with what is left of the target, white space in
 * front of it included. */
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

/* Both without white space around them; an empty target is none. */
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
