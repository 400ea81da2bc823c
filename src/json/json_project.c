/* Projection: selected members of an object, nested as in the text. Each member
 * is searched separately, and its value is copied byte for byte. */
#include "kindex/json.h"

#include "json/json_find.h"

/* Collects the remainders of all paths that begin with the same token as the
 * n-th path. False if an earlier path has that token: then they have all been
 * written. */
static bool group(const struct kx_slice *paths, size_t count, size_t n,
                  struct kx_slice *rests_out, size_t *rest_count_out)
{
    struct kx_slice rest = paths[n];
    struct kx_slice token = json_pointer_take(&rest);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        rest = paths[i];
        if (!kx_equal(json_pointer_take(&rest), token))
            continue;
        if (i < n)
            return false;
        rests_out[found++] = rest;
    }
    *rest_count_out = found;
    return true;
}

static bool find_member(struct kx_slice object, struct kx_slice path,
                        struct kx_slice *value_out)
{
    struct kx_slice rest = path;
    struct kx_slice token = json_pointer_take(&rest);
    return kx_json_find(object, kx_slice(token.data - 1, token.size + 1),
                        value_out);
}

/* The object whose members are selected: the value itself, or in the typed form
 * the object that it wraps. False if it is not an object. */
static bool members_of(struct kx_slice value, bool typed,
                       struct kx_slice *object_out)
{
    struct kx_slice type;
    *object_out = value;
    if (kx_json_type(value) != KX_JSON_OBJECT || !typed)
        return kx_json_type(value) == KX_JSON_OBJECT;
    return kx_json_find(value, kx_text("/type"), &type) &&
           kx_equal(type, kx_text("\"object\"")) &&
           kx_json_find(value, kx_text("/value"), object_out);
}

static void project(struct kx_slice object, const struct kx_slice *paths,
                    size_t count, bool typed, struct kx_buffer *out);

static void write_object(struct kx_slice object, const struct kx_slice *paths,
                         size_t count, bool typed, struct kx_buffer *out)
{
    if (typed)
        kx_add_text(out, "{\"type\":\"object\",\"value\":");
    project(object, paths, count, typed, out);
    if (typed)
        kx_add_byte(out, '}');
}

/* No path covers another, so a group in which a path ends has only that path.
 * The recursion is as deep as the document. */
static void project(struct kx_slice object, const struct kx_slice *paths,
                    size_t count, bool typed, struct kx_buffer *out)
{
    struct kx_slice rests[KX_PROJECTION_MAX];
    size_t rest_count = 0;
    kx_add_byte(out, '{');
    size_t empty = out->size;
    for (size_t n = 0; n < count; n++) {
        struct kx_slice rest = paths[n];
        struct kx_slice token = json_pointer_take(&rest);
        struct kx_slice value;
        struct kx_slice inner;
        if (!group(paths, count, n, rests, &rest_count) ||
            !find_member(object, paths[n], &value) ||
            (rest.size > 0 && !members_of(value, typed, &inner)))
            continue;
        if (out->size > empty)
            kx_add_byte(out, ',');
        json_pointer_add_name(token, out);
        if (rest.size == 0)
            kx_add_slice(out, value);
        else
            write_object(inner, rests, rest_count, typed, out);
    }
    kx_add_byte(out, '}');
}

static bool project_text(struct kx_slice text, const struct kx_slice *paths,
                         size_t count, bool typed, struct kx_buffer *out)
{
    struct kx_slice object;
    bool found = members_of(text, typed, &object);
    if (found)
        write_object(object, paths, count, typed, out);
    else
        kx_add_text(out, "{}");
    return found;
}

bool kx_json_project(struct kx_slice text, const struct kx_slice *paths,
                     size_t count, struct kx_buffer *out)
{
    return project_text(text, paths, count, false, out);
}

bool kx_json_project_typed(struct kx_slice text, const struct kx_slice *paths,
                           size_t count, struct kx_buffer *out)
{
    return project_text(text, paths, count, true, out);
}
