/* Writes entries as JSON from texts of known size, because it is called for
 * each entry of a page. */
#include "rest/entryjson.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "rest/document.h"

/* ---- Projections: members that a read asks for -------------------------- */

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

/* Adds a path unless an earlier path covers it, and drops the earlier paths
 * that it covers. */
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

/* Writes the members of a typed object, as plain JSON where possible: the same
 * as an index that stores these members shows. */
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

/* Like kx_value_to_json, but also shows the members of V8 values that
 * kx_value_to_json shows as bytes. */
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

/* ---- Entries ------------------------------------------------------------ */

/* Appends a constant, whose size the compiler knows. */
static inline void add_constant(struct kx_buffer *out, const char *text)
{
    kx_add(out, text, __builtin_strlen(text));
}

void entryjson_write_stamp(uint64_t stamp, struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS + 2];
    if (stamp == 0) {
        add_constant(out, "null");
        return;
    }
    text[0] = text[KX_STAMP_DIGITS + 1] = '"';
    kx_stamp_text(stamp, text + 1);
    kx_add(out, text, sizeof text);
}

/* Writes the members after key and value. An entry that does not expire has no
 * expiresAt. */
static void write_tail(const struct kx_entry *entry, struct kx_buffer *out)
{
    if (entry->deleted)
        add_constant(out, ",\"deleted\":true");
    add_constant(out, ",\"versionstamp\":");
    entryjson_write_stamp(entry->stamp, out);
    if (entry->expires_at_ms != 0) {
        char digits[40];
        int size = snprintf(digits, sizeof digits, ",\"expiresAt\":%lld",
                            (long long)entry->expires_at_ms);
        kx_add(out, digits, (size_t)size);
    }
    kx_add_byte(out, '}');
}

/* Whether the member is `value` or `typed` is known after the value is written;
 * the names have the same length, so the name is overwritten in place. */
static void write_value(const struct kx_entry *entry,
                        const struct projection *fields, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    add_constant(out, ",\"value\":");
    size_t name = out->size - strlen("value\":");
    bool plain = fields == NULL ? kx_value_to_json(&entry->value, out)
                                : projection_write(fields, &entry->value, out);
    if (!plain && !out->failed)
        memcpy(out->data + name, "typed", strlen("typed"));
    write_tail(entry, out);
}

/* Writes the entry without its value. */
static void write_key(const struct kx_entry *entry, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    write_tail(entry, out);
}

/* Returns the text that shows the value; it lies in the value or in scratch. */
static struct kx_slice text_of(const struct kx_value *value,
                               struct kx_buffer *scratch, const char **kind_out)
{
    *kind_out = value->encoding == KX_BYTES ? "bytes" : "json";
    if (value->encoding == KX_JSON || value->encoding == KX_BYTES)
        return value->data;
    if (!kx_value_to_json(value, scratch))
        *kind_out = "typed";
    return kx_buffer_slice(scratch);
}

/* Adds the first bytes of the text, unless they are not UTF-8. */
static void add_start(struct kx_slice text, size_t most, struct kx_buffer *out)
{
    struct kx_slice start = kx_slice(text.data, kx_utf8_fit(text, most));
    if (most == 0 || !kx_utf8_valid(start) ||
        (start.size == 0 && text.size > 0))
        return;
    add_constant(out, ",\"preview\":");
    kx_json_escape(start, out);
    kx_add_text(out,
                start.size < text.size ? ",\"cut\":true" : ",\"cut\":false");
}

/* Writes the kind, size and beginning of the value in place of the value. The
 * size of a pointer, which is not stored as an entry's value, is that of its
 * text. */
static void write_preview(const struct kx_entry *entry, size_t most,
                          struct kx_buffer *out)
{
    const struct kx_value *value = &entry->value;
    struct kx_buffer scratch;
    const char *kind;
    char size[32];
    kx_buffer_init(&scratch, out->owner);
    struct kx_slice text = text_of(value, &scratch, &kind);
    bool pointer = value->encoding == KX_POINTER;
    snprintf(size, sizeof size, "%zu", pointer ? text.size : value->data.size);
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    add_constant(out, ",\"kind\":\"");
    kx_add_text(out, kind);
    add_constant(out, "\",\"size\":");
    kx_add_text(out, size);
    if (value->encoding == KX_BYTES) {
        add_constant(out, ",\"mediaType\":");
        kx_json_escape(value->media_type, out);
    }
    add_start(text, most, out);
    write_tail(entry, out);
    out->failed |= scratch.failed;
    kx_buffer_free(&scratch);
}

void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out)
{
    if (entry->deleted)
        write_key(entry, out);
    else
        write_value(entry, NULL, out);
}

/* Appends the member `job` to the object of an entry that has one. */
static void add_job(const struct kx_entry *entry, struct kx_buffer *out)
{
    const struct kx_job *job = &entry->job;
    char text[80];
    if (!entry->has_job || entry->deleted)
        return;
    out->size -= !out->failed; /* the brace */
    snprintf(text, sizeof text, ",\"job\":{\"attempts\":%" PRIu32,
             job->attempts);
    kx_add_text(out, text);
    if (job->not_before_ms == KX_JOB_DEAD_MS) {
        add_constant(out, ",\"dead\":true");
    } else if (job->not_before_ms != 0) {
        snprintf(text, sizeof text, ",\"%s\":%" PRId64,
                 job->claim != 0 ? "leaseEndsAt" : "notBefore",
                 job->not_before_ms);
        kx_add_text(out, text);
    }
    if (job->error.size > 0) {
        add_constant(out, ",\"error\":");
        kx_json_escape(job->error, out);
    }
    add_constant(out, "}}");
}

void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out)
{
    if (shape->keys_only || entry->deleted)
        write_key(entry, out);
    else if (shape->previews)
        write_preview(entry, shape->preview, out);
    else
        write_value(entry, shape->fields.count > 0 ? &shape->fields : NULL,
                    out);
    if (shape->jobs)
        add_job(entry, out);
}

void entryjson_write_absent(struct kx_slice key, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(key, out);
    add_constant(out, ",\"value\":null,\"versionstamp\":null}");
}

void entryjson_one_line(struct kx_buffer *out, size_t from)
{
    for (size_t i = from; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

bool entryjson_read_typed(struct kx_slice json, const void *memory,
                          struct kx_value *value_out, struct input_error *error)
{
    struct kx_fault fault = {.status = KX_OK};
    fault.status = kx_value_from_typed(json, memory, value_out, &fault);
    return fault.status == KX_OK || input_error_fault(error, &fault);
}
