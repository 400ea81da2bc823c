/* The members `fields` and `store` of a declaration: the sources of an index
 * key's parts, and the contents of an index entry. */
#include "schema/declaration_parse.h"

/* ---- Fields ------------------------------------------------------------- */

/* A field being read. */
struct field_draft {
    struct field field;
    bool has_path;
};

static enum kx_status read_path(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->field.path);
}

static enum kx_status read_key(struct declaration_parse *parse,
                               struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return declaration_parse_count(parse, value,
                                   "which part of the key after the prefix",
                                   &draft->field.key_part);
}

enum kx_status declaration_read_fold(struct declaration_parse *parse,
                                     struct kx_slice value, enum fold *fold_out)
{
    static const char *const words[] = {[FOLD_NONE] = "none",
                                        [FOLD_LOWER] = "lower",
                                        [FOLD_CASEFOLD] = "casefold",
                                        NULL};
    size_t word = FOLD_NONE;
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    *fold_out = word;
    return status;
}

static enum kx_status read_fold(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return declaration_read_fold(parse, value, &draft->field.fold);
}

static enum kx_status read_each(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return declaration_parse_flag(parse, value, &draft->field.each);
}

static enum kx_status read_order(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    static const char *const words[] = {"asc", "desc", NULL};
    struct field_draft *draft = target;
    size_t word = 0;
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    draft->field.descending = word == 1;
    return status;
}

static enum kx_status read_versionstamp(struct declaration_parse *parse,
                                        struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return declaration_parse_flag(parse, value, &draft->field.versionstamp);
}

static const struct declaration_member field_members[] = {
    {"path", read_path},   {"key", read_key},
    {"fold", read_fold},   {"each", read_each},
    {"order", read_order}, {"versionstamp", read_versionstamp},
    {NULL, NULL},
};

enum kx_status declaration_no_array(struct declaration_parse *parse)
{
    return declaration_parse_bad(
        parse, "each needs a path: a part of the key is not an array");
}

static enum kx_status check_field(struct declaration_parse *parse,
                                  const struct field_draft *draft)
{
    const struct declaration *declaration = parse->declaration;
    bool has_key = draft->field.key_part != 0;
    bool has_stamp = draft->field.versionstamp;
    if (declaration->feed)
        return declaration_parse_bad(
            parse, "the versionstamp is the last field: no field follows it");
    if (draft->has_path + has_key + has_stamp != 1)
        return declaration_parse_bad(
            parse, "a field has either a path, such as \"/email\", or a key, "
                   "such as 1, or \"versionstamp\":true");
    if (has_stamp && (draft->field.each || draft->field.descending ||
                      draft->field.fold != FOLD_NONE))
        return declaration_parse_bad(
            parse, "a versionstamp has neither fold nor each, nor the order "
                   "desc: read it with reverse");
    if (has_key && draft->field.each)
        return declaration_no_array(parse);
    if (draft->field.each && declaration->has_each)
        return declaration_parse_bad(
            parse, "an index has at most one field with each");
    return KX_OK;
}

/* Reads a field: an object, or only its path. */
static enum kx_status read_field(struct declaration_parse *parse,
                                 struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    struct field_draft draft = {.has_path = false};
    if (declaration->field_count == KX_FIELDS_MAX)
        return declaration_parse_bad(parse, "an index has at most %d fields",
                                     KX_FIELDS_MAX);
    enum kx_status status = KX_OK;
    if (kx_json_type(value) == KX_JSON_OBJECT)
        status = declaration_parse_members(parse, value, field_members,
                                           "a field", &draft);
    else
        status = read_path(parse, value, &draft);
    if (status == KX_OK)
        status = check_field(parse, &draft);
    if (status != KX_OK)
        return status;
    if (draft.field.each) {
        declaration->has_each = true;
        declaration->each = declaration->field_count;
    }
    declaration->feed = draft.field.versionstamp;
    declaration->folds |= draft.field.fold != FOLD_NONE;
    declaration->fields[declaration->field_count++] = draft.field;
    return KX_OK;
}

enum kx_status declaration_read_fields(struct declaration_parse *parse,
                                       struct kx_slice value, void *target)
{
    (void)target;
    return declaration_parse_elements(parse, value, read_field);
}

/* ---- Store -------------------------------------------------------------- */

/* Takes the first reference token, with ~0 and ~1 as they are, from a JSON
 * Pointer that is not empty. */
static struct kx_slice take_token(struct kx_slice *pointer)
{
    struct kx_slice token = kx_slice(pointer->data + 1, 0);
    size_t left = pointer->size - 1;
    while (token.size < left && token.data[token.size] != '/')
        token.size++;
    *pointer = kx_slice(token.data + token.size, left - token.size);
    return token;
}

/* True if one path is equal to the other or leads into it. */
static bool overlap(struct kx_slice a, struct kx_slice b)
{
    while (a.size > 0 && b.size > 0)
        if (!kx_equal(take_token(&a), take_token(&b)))
            return false;
    return true;
}

static enum kx_status read_stored(struct declaration_parse *parse,
                                  struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    struct kx_slice path;
    enum kx_status status = declaration_parse_pointer(parse, value, &path);
    if (status != KX_OK)
        return status;
    if (path.size == 0)
        return declaration_parse_bad(parse,
                                     "store \"value\" keeps the whole value");
    if (declaration->stored_count == KX_STORED_MAX)
        return declaration_parse_bad(
            parse, "an index stores at most %d members", KX_STORED_MAX);
    for (size_t i = 0; i < declaration->stored_count; i++)
        if (overlap(declaration->stored[i], path))
            return declaration_parse_bad(
                parse,
                "this path contains another path, or is contained in it");
    declaration->stored[declaration->stored_count++] = path;
    return KX_OK;
}

enum kx_status declaration_read_stored(struct declaration_parse *parse,
                                       struct kx_slice value, void *target)
{
    (void)target;
    enum kx_status status =
        declaration_parse_elements(parse, value, read_stored);
    if (status == KX_OK && parse->declaration->stored_count == 0)
        return declaration_parse_bad(parse,
                                     "at least one path is expected here");
    return status;
}

static const struct declaration_member store_members[] = {
    {"fields", declaration_read_stored},
    {"aggregate", declaration_read_aggregate},
    {NULL, NULL},
};

enum kx_status declaration_read_store(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    static const char *const words[] = {
        [STORE_POINTER] = "pointer", [STORE_VALUE] = "value", NULL};
    struct declaration *declaration = target;
    size_t word = STORE_POINTER;
    if (kx_json_type(value) == KX_JSON_OBJECT) {
        declaration->store = STORE_FIELDS;
        enum kx_status status = declaration_parse_members(
            parse, value, store_members, "store", NULL);
        if (status == KX_OK && declaration->stored_count == 0 &&
            !declaration_aggregates(declaration))
            return declaration_parse_bad(parse, "store needs fields, such as "
                                                "{\"fields\":[\"/name\"]}");
        return status;
    }
    enum kx_status status = declaration_parse_word(parse, value, words, &word);
    if (status == KX_BAD_INDEX)
        return declaration_parse_bad(parse, "store is \"pointer\", \"value\", "
                                            "{\"fields\":[\"/name\"]} or "
                                            "{\"aggregate\":{\"count\":true}}");
    declaration->store = word;
    return status;
}
