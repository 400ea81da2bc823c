/* Reads index declarations. Each member has a row in a table: its name and the
 * function that reads its value. A member that is not in the table is an error,
 * so that a member with a spelling error is never ignored. */
#include "schema/declaration.h"

#include <stdio.h>
#include <talloc.h>

#include "schema/declaration_parse.h"

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(struct kx_slice text)
{
    if (text.size == 0 || text.size > KX_INDEX_NAME_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool later = (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!is_letter(c) && !(later && i > 0))
            return false;
    }
    return true;
}

/* Names are ASCII only: a name is part of keys, and must look the same wherever
 * it is written. */
enum kx_status declaration_read_name(struct declaration_parse *parse,
                                     struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    enum kx_status status =
        declaration_parse_text(parse, value, &declaration->name);
    if (status != KX_OK)
        return status;
    if (!is_name(declaration->name))
        return declaration_parse_bad(
            parse,
            "the name must be a letter or '_' and then at most "
            "%d letters, digits, '_', '.' or '-'",
            KX_INDEX_NAME_MAX - 1);
    struct kx_buffer key;
    kx_buffer_init(&key, declaration);
    memcpy(declaration->name_text, declaration->name.data,
           declaration->name.size);
    status = kx_key_add_string(&key, declaration->name);
    declaration->name_key = kx_buffer_slice(&key);
    return key.failed ? declaration_parse_no_memory(parse) : status;
}

enum kx_status declaration_read_prefix(struct declaration_parse *parse,
                                       struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    parse->has_prefix = true;
    return declaration_parse_prefix(parse, value, "prefix",
                                    &declaration->prefix);
}

enum kx_status declaration_read_depth(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    return declaration_parse_count(parse, value,
                                   "how many parts a key has after the prefix",
                                   &declaration->depth);
}

static enum kx_status read_unique(struct declaration_parse *parse,
                                  struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    return declaration_parse_flag(parse, value, &declaration->unique);
}

static enum kx_status read_adopt(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    return declaration_parse_flag(parse, value, &declaration->adopt);
}

static enum kx_status read_missing(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    static const char *const words[] = {[MISSING_SKIP] = "skip",
                                        [MISSING_ERROR] = "error",
                                        [MISSING_NULL] = "null",
                                        NULL};
    struct declaration *declaration = target;
    size_t word = MISSING_SKIP;
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    declaration->missing = word;
    return status;
}

static const struct declaration_member members[] = {
    {"name", declaration_read_name},
    {"prefix", declaration_read_prefix},
    {"depth", declaration_read_depth},
    {"fields", declaration_read_fields},
    {"unique", read_unique},
    {"store", declaration_read_store},
    {"missing", read_missing},
    {"where", declaration_read_where},
    {"tombstones", declaration_read_tombstones},
    {"queue", declaration_read_queue},
    {"adopt", read_adopt},
    {NULL, NULL},
};

enum kx_status declaration_check_fields(struct declaration_parse *parse,
                                        const char *member)
{
    const struct declaration *declaration = parse->declaration;
    for (size_t i = 0; i < declaration->field_count; i++) {
        size_t part = declaration->fields[i].key_part;
        if (declaration->depth == 0 || part <= declaration->depth)
            continue;
        declaration_parse_enter(parse, kx_text(member));
        declaration_parse_enter_element(parse, i);
        return declaration_no_part(parse, part);
    }
    return KX_OK;
}

enum kx_status declaration_no_part(struct declaration_parse *parse, size_t part)
{
    size_t depth = parse->declaration->depth;
    return declaration_parse_bad(parse,
                                 "no covered key has part %zu: with depth %zu "
                                 "the keys have %zu parts after the prefix",
                                 part, depth, depth);
}

/* Checks that concern more than one member. */
static enum kx_status check_whole(struct declaration_parse *parse)
{
    const struct declaration *declaration = parse->declaration;
    if (declaration->name.size == 0)
        return declaration_parse_bad(parse, "a declaration needs a name");
    if (!parse->has_prefix)
        return declaration_parse_bad(parse,
                                     "a declaration needs a prefix, such as "
                                     "[\"users\"]");
    if (declaration->field_count == 0 && !declaration_aggregates(declaration))
        return declaration_parse_bad(parse,
                                     "a declaration needs at least one field, "
                                     "such as \"/email\"");
    if (declaration->tombstones_ms != 0 && !declaration->feed)
        return declaration_parse_bad(
            parse, "tombstones need a last field {\"versionstamp\":true}");
    if (declaration->feed && declaration->unique)
        return declaration_parse_bad(
            parse, "an index with a versionstamp is not unique: each change "
                   "has another one");
    if (kx_starts_with(declaration->prefix, declaration->name_key)) {
        declaration_parse_enter(parse, kx_text("prefix"));
        return declaration_parse_bad(parse,
                                     "the prefix lies within the index's own "
                                     "entries: choose another name");
    }
    enum kx_status status = declaration_check_aggregate(parse);
    if (status == KX_OK)
        status = declaration_check_queue(parse);
    return status == KX_OK ? declaration_check_fields(parse, "fields") : status;
}

/* ---- The canonical text ------------------------------------------------- */

/* The canonical JSON of a declaration has its members in a fixed order, with
 * defaults, and values in one form, so that equal texts mean equal
 * declarations. Reading the text gives the same declaration again, except for
 * `adopt`. */
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
    declaration_write_queue(declaration, &out);
    kx_add_byte(&out, '}');
    declaration->text = kx_buffer_slice(&out);
    return out.failed ? KX_NO_MEMORY : KX_OK;
}

/* ---- Reading ------------------------------------------------------------ */

static enum kx_status read_text(void *mem, struct kx_slice text,
                                bool signed_zero,
                                struct declaration **declaration_out,
                                struct kx_fault *fault)
{
    enum kx_status status = kx_json_check(text, fault);
    if (status != KX_OK)
        return status;
    struct declaration *declaration = talloc_zero(mem, struct declaration);
    if (declaration == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    declaration->signed_zero = signed_zero;
    struct declaration_parse parse = {.declaration = declaration,
                                      .fault = fault};
    status = declaration_parse_members(&parse, text, members, "a declaration",
                                       declaration);
    if (status == KX_OK)
        status = check_whole(&parse);
    if (status == KX_OK)
        status = declaration_write(declaration);
    if (status == KX_OK)
        *declaration_out = declaration;
    else
        talloc_free(declaration);
    return status;
}

enum kx_status declaration_parse(void *mem, struct kx_slice text,
                                 struct declaration **declaration_out,
                                 struct kx_fault *fault)
{
    return read_text(mem, text, false, declaration_out, fault);
}

enum kx_status declaration_parse_stored(void *mem, struct kx_slice text,
                                        bool signed_zero,
                                        struct declaration **declaration_out)
{
    return read_text(mem, text, signed_zero, declaration_out, NULL);
}

/* The raw value of a member in the canonical text; empty if absent. */
static struct kx_slice member_of(const struct declaration *declaration,
                                 struct kx_slice name)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice value;
    kx_json_iterate(declaration->text, &iter);
    while (kx_json_next(&iter, &token, &value))
        if (kx_equal(kx_slice(token.data + 1, token.size - 2), name))
            return value;
    return kx_slice(NULL, 0);
}

void declaration_difference(const struct declaration *have,
                            const struct declaration *want,
                            struct kx_buffer *out)
{
    for (const struct declaration_member *member = members;
         member->name != NULL; member++) {
        struct kx_slice a = member_of(have, kx_text(member->name));
        struct kx_slice b = member_of(want, kx_text(member->name));
        if (kx_equal(a, b))
            continue;
        kx_add_text(out, out->size == 0 ? "\"" : "; \"");
        kx_add_text(out, member->name);
        kx_add_text(out, "\" is ");
        kx_add_slice(out, a.size == 0 ? kx_text("not given") : a);
        kx_add_text(out, ", not ");
        kx_add_slice(out, b.size == 0 ? kx_text("left out") : b);
    }
}

static size_t count_parts(struct kx_slice rest)
{
    size_t count = 0;
    size_t size = 0;
    while ((size = kx_part_size(rest)) != 0) {
        rest = kx_slice(rest.data + size, rest.size - size);
        count++;
    }
    return count;
}

/* The key must have at least one part after the prefix, since an index entry's
 * owner is never empty. */
bool declaration_covers(const struct declaration *declaration,
                        struct kx_slice key)
{
    size_t size = declaration->prefix.size;
    if (key.size <= size || !kx_starts_with(key, declaration->prefix))
        return false;
    struct kx_slice rest = kx_slice(key.data + size, key.size - size);
    /* If FF follows, the final 00 of the prefix is an escaped zero of a longer
     * part: no part begins with FF. */
    if (size > 0 && rest.data[0] == 0xff)
        return false;
    return declaration->depth == 0 || count_parts(rest) == declaration->depth;
}

bool declaration_stores(const struct declaration *declaration,
                        struct kx_slice member)
{
    for (size_t i = 0; i < declaration->stored_count; i++)
        if (kx_pointer_covers(declaration->stored[i], member))
            return true;
    return false;
}

enum kx_status kx_declared_read(void *mem, struct kx_slice declaration,
                                struct kx_declared *declared_out)
{
    struct declaration *parsed;
    enum kx_status status = declaration_parse(mem, declaration, &parsed, NULL);
    if (status == KX_OK) /* NOLINTNEXTLINE: parsed is set then */
        *declared_out = (struct kx_declared){.name_key = parsed->name_key,
                                             .prefix = parsed->prefix,
                                             .dead = parsed->queue.dead,
                                             .adopts = parsed->adopt};
    return status;
}
