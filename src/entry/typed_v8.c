/* Conversion of the typed form to V8, for values that JSON cannot carry. A
 * table has a function for each type. The recursion is as deep as the text, at
 * most KX_JSON_DEPTH_MAX. */
#include <talloc.h>

#include "entry/typed_put.h"
#include "entry/typed_v8.h"
#include "v8/v8_encode.h"
#include "entry/v8_typed.h"

typedef enum kx_status put_fn(struct typed_sink *sink, struct kx_slice json);

static put_fn put;

/* ---- Containers --------------------------------------------------------- */

static enum kx_status put_object(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    uint32_t count = 0;
    if (!kx_json_iterate(typed->value, &iter) || !iter.object)
        return typed_bad(sink->fault, "The value of an object is an object.");
    v8_put_tag(&sink->writer, 'o');
    for (; kx_json_next(&iter, &name, &child); count++) {
        v8_encode_name(&sink->writer, name);
        enum kx_status status = put(sink, child);
        if (status != KX_OK)
            return status;
    }
    v8_put_tag(&sink->writer, '{');
    v8_put_varint(&sink->writer, count);
    return KX_OK;
}

static enum kx_status iterate_array(struct typed_sink *sink,
                                    struct kx_slice json,
                                    struct kx_json_iter *iter_out)
{
    if (kx_json_iterate(json, iter_out) && !iter_out->object)
        return KX_OK;
    return typed_bad(sink->fault, "The value of an Array, a Map or a Set "
                                  "is an array.");
}

static bool is_hole(struct kx_slice json)
{
    struct typed typed;
    return typed_members(json, &typed, NULL) == KX_OK &&
           kx_equal(typed.type, kx_text("hole"));
}

/* The number of missing elements. */
static uint32_t count_holes(struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice child;
    uint32_t holes = 0;
    while (kx_json_next(&iter, &none, &child))
        holes += is_hole(child);
    return holes;
}

/* An array with holes is written as V8 does: as a sparse array, each element
 * with its index. */
static enum kx_status put_array(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct v8_writer *writer = &sink->writer;
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    enum kx_status status = iterate_array(sink, typed->value, &iter);
    if (status != KX_OK)
        return status;
    uint32_t length = v8_count(typed->value);
    uint32_t holes = count_holes(iter);
    v8_put_tag(writer, holes > 0 ? 'a' : 'A');
    v8_put_varint(writer, length);
    for (uint32_t i = 0; kx_json_next(&iter, &none, &child); i++) {
        if (holes > 0 && is_hole(child))
            continue;
        if (holes > 0)
            v8_put_number(writer, i);
        status = put(sink, child);
        if (status != KX_OK)
            return status;
    }
    v8_put_tag(writer, holes > 0 ? '@' : '$');
    v8_put_varint(writer, holes > 0 ? length - holes : 0);
    v8_put_varint(writer, length);
    return KX_OK;
}

static enum kx_status put_pair(struct typed_sink *sink, struct kx_slice pair)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    if (!kx_json_iterate(pair, &iter) || iter.object || v8_count(pair) != 2)
        return typed_bad(sink->fault,
                         "The value of a Map is an array of pairs.");
    enum kx_status status = KX_OK;
    while (status == KX_OK && kx_json_next(&iter, &none, &child))
        status = put(sink, child);
    return status;
}

/* Writes the elements of an array between two tags; each is written as so many
 * values. */
static enum kx_status put_members(struct typed_sink *sink,
                                  struct kx_slice array, const char *tags,
                                  put_fn *put_member, uint32_t values)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    uint32_t count = 0;
    enum kx_status status = iterate_array(sink, array, &iter);
    v8_put_tag(&sink->writer, tags[0]);
    while (status == KX_OK && kx_json_next(&iter, &none, &child)) {
        status = put_member(sink, child);
        count += values;
    }
    v8_put_tag(&sink->writer, tags[1]);
    v8_put_varint(&sink->writer, count);
    return status;
}

static enum kx_status put_set(struct typed_sink *sink,
                              const struct typed *typed)
{
    return put_members(sink, typed->value, "',", put, 1);
}

static enum kx_status put_map(struct typed_sink *sink,
                              const struct typed *typed)
{
    return put_members(sink, typed->value, ";:", put_pair, 2);
}

/* ---- Errors ------------------------------------------------------------- */

static enum kx_status put_field(struct typed_sink *sink, char tag,
                                struct kx_slice json)
{
    if (json.size == 0)
        return KX_OK;
    if (tag != 'c' && kx_json_type(json) != KX_JSON_STRING)
        return typed_bad(sink->fault, "message and stack are strings.");
    v8_put_tag(&sink->writer, tag);
    if (tag == 'c')
        return put(sink, json);
    v8_encode_string(&sink->writer, json);
    return KX_OK;
}

/* V8 expects message, stack and cause in this order; in JSON the order is
 * free. */
static enum kx_status put_error(struct typed_sink *sink,
                                const struct typed *typed)
{
    static const char *const names[] = {"\"message\"", "\"stack\"",
                                        "\"cause\""};
    struct kx_slice fields[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    uint8_t letter = 0;
    if (!kx_json_iterate(typed->value, &iter) || !iter.object)
        return typed_bad(sink->fault, "The value of an Error is an object.");
    while (kx_json_next(&iter, &name, &child)) {
        size_t i = 0;
        while (i < 3 && !kx_equal(name, kx_text(names[i])))
            i++;
        if (i == 3)
            return typed_bad(sink->fault,
                             "An Error has message, stack and cause.");
        fields[i] = child;
    }
    v8_error_letter(typed->type, &letter);
    v8_put_tag(&sink->writer, 'r');
    kx_add(sink->writer.out, &letter, letter != 0);
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < 3; i++)
        status = put_field(sink, "msc"[i], fields[i]);
    v8_put_tag(&sink->writer, '.');
    return status;
}

/* ---- The whole ---------------------------------------------------------- */

static const struct type {
    const char *name;
    typed_put_fn *put;
} TYPES[] = {
    {"string", typed_put_scalar},
    {"number", typed_put_scalar},
    {"boolean", typed_put_scalar},
    {"null", typed_put_scalar},
    {"undefined", typed_put_undefined},
    {"bigint", typed_put_bigint},
    {"Date", typed_put_date},
    {"RegExp", typed_put_regexp},
    {"ArrayBuffer", typed_put_buffer},
    {"object", put_object},
    {"Array", put_array},
    {"Map", put_map},
    {"Set", put_set},
};

static typed_put_fn *find(struct kx_slice type)
{
    uint8_t letter;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (kx_equal(type, kx_text(TYPES[i].name)))
            return TYPES[i].put;
    if (v8_view_type(type) != 0)
        return typed_put_view;
    return v8_error_letter(type, &letter) ? put_error : NULL;
}

static enum kx_status put(struct typed_sink *sink, struct kx_slice json)
{
    struct typed typed;
    enum kx_status status = typed_members(json, &typed, sink->fault);
    if (status != KX_OK)
        return status;
    typed_put_fn *put_type = find(typed.type);
    if (put_type != NULL)
        return put_type(sink, &typed);
    return kx_fail(sink->fault, KX_BAD_VALUE,
                   "The type %.*s is unknown; the types are string, number, "
                   "boolean, null, undefined, bigint, Date, RegExp, Array, "
                   "object, Map, Set, ArrayBuffer, DataView, the typed arrays "
                   "and the errors, and KvU64 as a whole value.",
                   kx_shown(typed.type), (const char *)typed.type.data);
}

enum kx_status typed_to_v8(struct kx_slice json, struct kx_buffer *out,
                           struct kx_fault *fault)
{
    struct typed_sink sink = {.memory = talloc_new(out->owner), .fault = fault};
    if (sink.memory == NULL)
        return KX_NO_MEMORY;
    v8_begin(&sink.writer, out);
    enum kx_status status = put(&sink, json);
    talloc_free(sink.memory);
    return status;
}
