/* Reads which members of values are asked for. A path inside the value of
 * another path is dropped, because it adds nothing. */
#include "rest/projection.h"

#include <talloc.h>

#include "rest/document.h"

/* Appends a name as the JSON Pointer to the member of that name. */
static void add_name(struct kx_slice name, struct kx_buffer *out)
{
    kx_add_byte(out, '/');
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '~')
            kx_add_text(out, "~0");
        else if (name.data[i] == '/')
            kx_add_text(out, "~1");
        else
            kx_add_byte(out, name.data[i]);
    }
}

static bool bad(struct input_error *error, struct kx_slice text)
{
    if (text.size == 0)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "A field is empty; leave out fields to show the whole value.");
    return input_error_set(
        error, PROBLEM_BAD_REQUEST,
        "\"%.*s\" is not a JSON Pointer such as /address/city of at most %d "
        "bytes; a '~' in it is written ~0.",
        (int)(text.size < 60 ? text.size : 60), (const char *)text.data,
        KX_POINTER_MAX);
}

/* Adds a path unless an earlier one covers it, and drops the earlier ones that
 * it covers. */
static bool add_path(struct projection *fields, struct kx_slice path,
                     struct input_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < fields->count; i++) {
        if (kx_pointer_covers(fields->paths[i], path))
            return true;
        if (!kx_pointer_covers(path, fields->paths[i]))
            fields->paths[kept++] = fields->paths[i];
    }
    fields->count = kept;
    if (kept == KX_PROJECTION_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "At most %d fields can be asked for.",
                               KX_PROJECTION_MAX);
    fields->paths[fields->count++] = path;
    return true;
}

static bool add_field(struct kx_slice text, const void *memory,
                      struct projection *fields, struct input_error *error)
{
    struct kx_buffer path;
    kx_buffer_init(&path, memory);
    if (text.size > 0 && text.data[0] == '/')
        kx_add_slice(&path, text);
    else
        add_name(text, &path);
    if (path.failed)
        return input_error_no_memory(error);
    if (text.size == 0 || !kx_pointer_valid(kx_buffer_slice(&path)))
        return bad(error, text);
    return add_path(fields, kx_buffer_slice(&path), error);
}

bool projection_read_array(struct kx_slice array, const void *memory,
                           struct projection *fields_out,
                           struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    size_t count;
    if (!document_count(array, &count, error))
        return false;
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &none, &element); i++) {
        struct kx_buffer text;
        kx_buffer_init(&text, memory);
        if (!document_text(element, &text, error) ||
            !add_field(kx_buffer_slice(&text), memory, fields_out, error))
            return input_error_in_element(error, i);
    }
    return fields_out->count > 0 || bad(error, kx_slice(NULL, 0));
}

static bool read_list(struct kx_slice text, const void *memory,
                      struct projection *fields, struct input_error *error)
{
    for (;;) {
        const uint8_t *comma =
            text.size == 0 ? NULL : memchr(text.data, ',', text.size);
        size_t size = comma == NULL ? text.size : (size_t)(comma - text.data);
        if (!add_field(kx_slice(text.data, size), memory, fields, error))
            return false;
        if (comma == NULL)
            return true;
        text = kx_slice(comma + 1, text.size - size - 1);
    }
}

/* Reads names separated by commas; names that contain commas need the array. */
static bool read_text(struct kx_slice text, const void *memory,
                      struct projection *fields, struct input_error *error)
{
    struct kx_fault fault;
    if (text.size == 0 || text.data[0] != '[')
        return read_list(text, memory, fields, error);
    if (kx_json_check(text, &fault) != KX_OK)
        return input_error_fault(error, &fault);
    return projection_read_array(text, memory, fields, error);
}

bool projection_read(const struct query_params *query,
                     struct projection *fields_out, struct input_error *error)
{
    struct kx_buffer text;
    fields_out->count = 0;
    if (!query_params_has(query, PARAMETER_FIELDS))
        return true;
    kx_buffer_init(&text, query->memory);
    if (!query_params_text(query, PARAMETER_FIELDS, &text, error))
        return false;
    if (read_text(kx_buffer_slice(&text), query->memory, fields_out, error))
        return true;
    if (error->code == PROBLEM_BAD_REQUEST)
        error->code = PROBLEM_BAD_PARAMETER;
    error->parameter = kx_text(query_params_name(PARAMETER_FIELDS));
    error->pointer[0] = '\0';
    return false;
}

/* The members of a typed object, in plain JSON where that can carry them: the
 * same as an index shows that has stored them. */
static bool write_typed(const struct projection *fields, struct kx_slice typed,
                        struct kx_buffer *out)
{
    struct kx_buffer part;
    struct kx_value value;
    void *memory = talloc_new(out->owner);
    kx_buffer_init(&part, memory);
    bool plain =
        !kx_json_project_typed(typed, fields->paths, fields->count, &part);
    if (memory == NULL || part.failed)
        out->failed = true;
    else if (!plain && kx_value_from_typed(kx_buffer_slice(&part), memory,
                                           &value, NULL) == KX_OK)
        plain = kx_value_to_json(&value, out);
    else
        kx_add_slice(out, kx_buffer_slice(&part));
    talloc_free(memory);
    return plain;
}

/* Like kx_value_to_json, but also reaches the members of values that
 * kx_value_to_json can only show as bytes. */
static bool write_whole(const struct kx_value *value, struct kx_buffer *text)
{
    if (kx_value_to_json(value, text))
        return true;
    if (value->encoding != KX_V8 ||
        !kx_starts_with(kx_buffer_slice(text), kx_text("{\"type\":\"V8\",")))
        return false;
    text->size = 0;
    kx_v8_members(value->data, text);
    return true;
}

bool projection_write(const struct projection *fields,
                      const struct kx_value *value, struct kx_buffer *out)
{
    struct kx_buffer text;
    bool plain = true;
    struct kx_slice json = value->data;
    kx_buffer_init(&text, out->owner);
    if (value->encoding != KX_JSON) {
        plain = write_whole(value, &text);
        json = kx_buffer_slice(&text);
    }
    if (text.failed)
        out->failed = true;
    else if (plain)
        kx_json_project(json, fields->paths, fields->count, out);
    else
        plain = write_typed(fields, json, out);
    kx_buffer_free(&text);
    return plain;
}
