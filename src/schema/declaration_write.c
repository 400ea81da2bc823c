/* The canonical JSON of a declaration: members in a fixed order, defaults
 * filled in, values in one form. Two declarations are equal if these texts are
 * equal. Reading the text gives the same declaration again, except for
 * `adopt`. */
#include "schema/declaration_parse.h"

#include <stdio.h>

static void write_number(const char *name, size_t number, struct kx_buffer *out)
{
    char text[48];
    snprintf(text, sizeof text, "\"%s\":%zu", name, number);
    kx_add_text(out, text);
}

/* Opens an object with the members of a field; more members may follow. */
static void write_subject(const struct field *field, struct kx_buffer *out)
{
    kx_add_byte(out, '{');
    if (field->versionstamp) {
        kx_add_text(out, "\"versionstamp\":true");
    } else if (field->key_part != 0) {
        write_number("key", field->key_part, out);
    } else {
        kx_add_text(out, "\"path\":");
        kx_json_escape(field->path, out);
    }
    if (field->fold == FOLD_LOWER)
        kx_add_text(out, ",\"fold\":\"lower\"");
    if (field->fold == FOLD_CASEFOLD)
        kx_add_text(out, ",\"fold\":\"casefold\"");
    if (field->each)
        kx_add_text(out, ",\"each\":true");
    if (field->descending)
        kx_add_text(out, ",\"order\":\"desc\"");
}

static void write_field(const struct field *field, struct kx_buffer *out)
{
    write_subject(field, out);
    kx_add_byte(out, '}');
}

static void write_store(const struct declaration *declaration,
                        struct kx_buffer *out)
{
    kx_add_text(out, ",\"store\":");
    switch (declaration->store) {
    case STORE_POINTER:
        kx_add_text(out, "\"pointer\"");
        return;
    case STORE_VALUE:
        kx_add_text(out, "\"value\"");
        return;
    case STORE_AGGREGATE:
        declaration_write_aggregate(declaration, out);
        return;
    case STORE_FIELDS:
        break;
    }
    kx_add_text(out, "{\"fields\":[");
    for (size_t i = 0; i < declaration->stored_count; i++) {
        kx_add(out, ",", i > 0);
        kx_json_escape(declaration->stored[i], out);
    }
    kx_add_text(out, "]}");
}

/* Writes one encoded part, or null. */
static void write_operand(struct kx_slice operand, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, operand);
    if (kx_key_next(&reader, &part) == KX_OK)
        kx_part_to_json(&part, out);
    else
        kx_add_text(out, "null");
}

void declaration_write_condition(const struct condition *condition,
                                 struct kx_buffer *out)
{
    struct field subject = {.path = condition->path,
                            .key_part = condition->key_part,
                            .fold = condition->fold,
                            .each = condition->each};
    write_subject(&subject, out);
    kx_add_text(out, ",\"");
    kx_add_text(out, declaration_comparison(condition->comparison));
    kx_add_text(out, "\":");
    if (condition->comparison == WHERE_EXISTS)
        kx_add_text(out, condition->exists ? "true" : "false");
    kx_add(out, "[", condition->comparison == WHERE_IN);
    for (size_t i = 0; i < condition->value_count; i++) {
        kx_add(out, ",", i > 0);
        write_operand(condition->values[i], out);
    }
    kx_add(out, "]", condition->comparison == WHERE_IN);
    kx_add_byte(out, '}');
}

static void write_where(const struct declaration *declaration,
                        struct kx_buffer *out)
{
    if (declaration->where_count == 0)
        return;
    kx_add_text(out, ",\"where\":[");
    for (size_t i = 0; i < declaration->where_count; i++) {
        kx_add(out, ",", i > 0);
        declaration_write_condition(&declaration->where[i], out);
    }
    kx_add_byte(out, ']');
}

static void write_missing(enum index_missing missing, struct kx_buffer *out)
{
    static const char *const words[] = {[MISSING_SKIP] = "skip",
                                        [MISSING_ERROR] = "error",
                                        [MISSING_NULL] = "null"};
    kx_add_text(out, ",\"missing\":\"");
    kx_add_text(out, words[missing]);
    kx_add_byte(out, '"');
}

enum kx_status declaration_write(struct declaration *declaration)
{
    struct kx_buffer out;
    kx_buffer_init(&out, declaration);
    kx_add_text(&out, "{\"name\":");
    kx_json_escape(declaration->name, &out);
    kx_add_text(&out, ",\"prefix\":");
    kx_key_to_json(declaration->prefix, &out);
    if (declaration->depth != 0) {
        kx_add_byte(&out, ',');
        write_number("depth", declaration->depth, &out);
    }
    kx_add_text(&out, ",\"fields\":[");
    for (size_t i = 0; i < declaration->field_count; i++) {
        kx_add(&out, ",", i > 0);
        write_field(&declaration->fields[i], &out);
    }
    kx_add_text(&out, declaration->unique ? "],\"unique\":true"
                                          : "],\"unique\":false");
    write_store(declaration, &out);
    write_missing(declaration->missing, &out);
    write_where(declaration, &out);
    declaration_write_tombstones(declaration, &out);
    kx_add_byte(&out, '}');
    declaration->text = kx_buffer_slice(&out);
    return out.failed ? KX_NO_MEMORY : KX_OK;
}
