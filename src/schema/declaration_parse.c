/* Reads the parts of a declaration: objects by tables of members, the JSON
 * Pointer that an error names, the few kinds of values, and the members that
 * are objects themselves. One file because each member has a few
 * functions that only its table calls. */
#include "schema/declaration_parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <talloc.h>

#include "schema/indexable.h"

enum { SHOWN = 40 };

enum kx_status declaration_parse_bad(struct declaration_parse *parse,
                                     const char *format, ...)
{
    char detail[KX_DETAIL_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    kx_fail(parse->fault, KX_BAD_INDEX, "%s", detail);
    if (parse->fault != NULL)
        snprintf(parse->fault->pointer, sizeof parse->fault->pointer, "%s",
                 parse->pointer);
    return KX_BAD_INDEX;
}

enum kx_status declaration_parse_no_memory(struct declaration_parse *parse)
{
    return kx_fail(parse->fault, KX_NO_MEMORY, "no memory");
}

/* ---- The position in the document --------------------------------------- */

/* A name that does not fit is left out: the pointer then names the object
 * around it. */
size_t declaration_parse_enter(struct declaration_parse *parse,
                               struct kx_slice name)
{
    size_t end = parse->pointer_end;
    size_t at = end;
    if (end + 2 * name.size + 2 > sizeof parse->pointer)
        return end;
    parse->pointer[at++] = '/';
    for (size_t i = 0; i < name.size; i++) {
        bool escaped = name.data[i] == '~' || name.data[i] == '/';
        if (escaped)
            parse->pointer[at++] = '~';
        parse->pointer[at++] = name.data[i] == '~'   ? '0'
                               : name.data[i] == '/' ? '1'
                                                     : (char)name.data[i];
    }
    parse->pointer_end = at;
    parse->pointer[at] = '\0';
    return end;
}

size_t declaration_parse_enter_element(struct declaration_parse *parse,
                                       size_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", number);
    return declaration_parse_enter(parse, kx_text(text));
}

/* Moves the pointer back to where it was before an `enter`, which has returned
 * `end`. */
static void leave(struct declaration_parse *parse, size_t end)
{
    parse->pointer_end = end;
    parse->pointer[end] = '\0';
}

/* ---- Objects ------------------------------------------------------------ */

/* "name, prefix and depth" */
static void list_names(const struct declaration_member *table, char *out,
                       size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct declaration_member *member = table; member->name != NULL;
         member++) {
        const char *gap = member == table          ? ""
                          : member[1].name == NULL ? " and "
                                                   : ", ";
        int added =
            snprintf(out + used, size - used, "%s%s", gap, member->name);
        used += added > 0 ? (size_t)added : 0;
        if (used >= size)
            return;
    }
}

static const char *nearest(const struct declaration_member *table,
                           struct kx_slice name)
{
    const char *best = NULL;
    size_t distance = KX_NEAR + 1;
    for (; table->name != NULL; table++)
        if (kx_resembles(name, kx_text(table->name), &distance))
            best = table->name;
    return best;
}

static enum kx_status unknown(struct declaration_parse *parse,
                              const struct declaration_member *table,
                              const char *what, struct kx_slice name)
{
    char names[200];
    const char *meant = nearest(table, name);
    bool cut = name.size > SHOWN;
    list_names(table, names, sizeof names);
    declaration_parse_bad(
        parse, "\"%.*s\"%s is not a member of %s%s%s%s it has %s",
        (int)(cut ? 0 : name.size), (const char *)name.data,
        cut ? " (a long name)" : "", what,
        meant == NULL ? "" : ": did you mean \"", meant == NULL ? "" : meant,
        meant == NULL ? ";" : "\"?", names);
    if (meant != NULL && parse->fault != NULL)
        snprintf(parse->fault->suggestion, sizeof parse->fault->suggestion,
                 "%s", meant);
    return KX_BAD_INDEX;
}

static const struct declaration_member *
find(const struct declaration_member *table, struct kx_slice name)
{
    for (; table->name != NULL; table++)
        if (kx_equal(name, kx_text(table->name)))
            return table;
    return NULL;
}

/* Names are compared with their escapes, so a name with an escape is
 * refused. */
enum kx_status declaration_parse_members(struct declaration_parse *parse,
                                         struct kx_slice object,
                                         const struct declaration_member *table,
                                         const char *what, void *target)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice value;
    enum kx_status status = KX_OK;
    if (!kx_json_iterate(object, &iter) || !iter.object)
        return declaration_parse_bad(parse, "%s is a JSON object", what);
    while (status == KX_OK && kx_json_next(&iter, &token, &value)) {
        struct kx_slice name = kx_slice(token.data + 1, token.size - 2);
        const struct declaration_member *member = find(table, name);
        size_t end = declaration_parse_enter(parse, name);
        parse->member = member;
        status = member == NULL ? unknown(parse, table, what, name)
                                : member->read(parse, value, target);
        leave(parse, end);
    }
    return status;
}

/* ---- Values ------------------------------------------------------------- */

enum kx_status declaration_parse_text(struct declaration_parse *parse,
                                      struct kx_slice value,
                                      struct kx_slice *text_out)
{
    if (kx_json_type(value) != KX_JSON_STRING)
        return declaration_parse_bad(parse, "a string is expected here");
    struct kx_buffer text;
    kx_buffer_init(&text, parse->declaration);
    kx_json_unescape(value, &text);
    *text_out = kx_buffer_slice(&text);
    return text.failed ? declaration_parse_no_memory(parse) : KX_OK;
}

/* Refuses a pointer that is wrong at byte `at`, which is shown as the number of
 * a character, from 1. */
static enum kx_status bad_pointer(struct declaration_parse *parse,
                                  struct kx_slice pointer, size_t at)
{
    size_t character = 1;
    for (size_t i = 0; i < at; i++)
        character += (pointer.data[i] & 0xc0) != 0x80;
    if (at == 0)
        return declaration_parse_bad(
            parse, "character 1 is wrong: a path is a JSON Pointer, "
                   "which begins with '/', such as \"/email\"");
    return declaration_parse_bad(
        parse,
        "character %zu is wrong: in a JSON Pointer '~' is "
        "written ~0 and '/' within a name ~1",
        character);
}

/* As in RFC 6901, an empty path is the whole value. */
enum kx_status declaration_parse_pointer(struct declaration_parse *parse,
                                         struct kx_slice value,
                                         struct kx_slice *pointer_out)
{
    struct kx_slice path = {0};
    enum kx_status status = declaration_parse_text(parse, value, &path);
    if (status != KX_OK)
        return status;
    if (path.size > KX_POINTER_MAX)
        return declaration_parse_bad(parse, "a path has at most %d bytes",
                                     KX_POINTER_MAX);
    if (path.size > 0 && path.data[0] != '/')
        return bad_pointer(parse, path, 0);
    for (size_t i = 0; i < path.size; i++)
        if (path.data[i] == '~' &&
            (i + 1 == path.size ||
             (path.data[i + 1] != '0' && path.data[i + 1] != '1')))
            return bad_pointer(parse, path, i);
    *pointer_out = path;
    return KX_OK;
}

enum kx_status declaration_parse_flag(struct declaration_parse *parse,
                                      struct kx_slice value, bool *flag_out)
{
    enum kx_json_type type = kx_json_type(value);
    if (type != KX_JSON_TRUE && type != KX_JSON_FALSE)
        return declaration_parse_bad(parse, "true or false is expected here");
    *flag_out = type == KX_JSON_TRUE;
    return KX_OK;
}

enum kx_status declaration_parse_count(struct declaration_parse *parse,
                                       struct kx_slice value,
                                       const char *meaning, size_t *count_out)
{
    double count = 0;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &count) || count < 1 || count > KX_KEY_MAX ||
        count != (double)(size_t)count)
        return declaration_parse_bad(
            parse, "a whole number from 1 to %d is expected: %s", KX_KEY_MAX,
            meaning);
    *count_out = (size_t)count;
    return KX_OK;
}

enum kx_status declaration_parse_word(struct declaration_parse *parse,
                                      struct kx_slice value,
                                      const char *const *words,
                                      size_t *word_out)
{
    struct kx_slice text = {0};
    char list[128] = "";
    enum kx_status status = declaration_parse_text(parse, value, &text);
    if (status != KX_OK)
        return status;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (kx_equal(text, kx_text(words[i]))) {
            *word_out = i;
            return KX_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s\"%s\"",
                 i == 0 ? "" : " or ", words[i]);
    }
    return declaration_parse_bad(parse, "only %s can stand here", list);
}

enum kx_status declaration_parse_prefix(struct declaration_parse *parse,
                                        struct kx_slice value, const char *name,
                                        struct kx_slice *prefix_out)
{
    if (kx_json_type(value) != KX_JSON_ARRAY)
        return declaration_parse_bad(parse,
                                     "%s must be an array of key parts, such "
                                     "as [\"users\"]",
                                     name);
    struct kx_fault fault = {.detail = ""};
    struct kx_buffer key;
    kx_buffer_init(&key, parse->declaration);
    enum kx_status status = kx_key_from_json(value, &key, &fault);
    if (key.failed || status == KX_NO_MEMORY)
        return declaration_parse_no_memory(parse);
    if (status != KX_OK)
        return declaration_parse_bad(parse, "%s: %s", name, fault.detail);
    if (key.size >= KX_KEY_MAX)
        return declaration_parse_bad(parse, "the %s is longer than %d bytes",
                                     name, KX_KEY_MAX);
    *prefix_out = kx_buffer_slice(&key);
    return KX_OK;
}

/* Calls `read` for each element of an array of paths. */
static enum kx_status parse_elements(
    struct declaration_parse *parse, struct kx_slice array,
    enum kx_status (*read)(struct declaration_parse *, struct kx_slice))
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    enum kx_status status = KX_OK;
    if (kx_json_type(array) != KX_JSON_ARRAY || !kx_json_iterate(array, &iter))
        return declaration_parse_bad(
            parse, "%s must be an array of JSON Pointers, such as [\"/email\"]",
            parse->member->name);
    for (size_t i = 0; status == KX_OK && kx_json_next(&iter, &none, &element);
         i++) {
        size_t end = declaration_parse_enter_element(parse, i);
        status = read(parse, element);
        leave(parse, end);
    }
    return status;
}

/* ---- The member fields -------------------------------------------------- */

/* A field being read. */
struct field_draft {
    struct field field;
    bool has_path;
};

static enum kx_status read_field_path(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->field.path);
}

static enum kx_status read_field_key(struct declaration_parse *parse,
                                     struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return declaration_parse_count(parse, value,
                                   "which part of the key after the prefix",
                                   &draft->field.key_part);
}

/* Reads the member `fold` of a field. */
static enum kx_status read_fold(struct declaration_parse *parse,
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

static enum kx_status read_field_fold(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct field_draft *draft = target;
    return read_fold(parse, value, &draft->field.fold);
}

static enum kx_status read_field_each(struct declaration_parse *parse,
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
    {"path", read_field_path},
    {"key", read_field_key},
    {"fold", read_field_fold},
    {"each", read_field_each},
    {"order", read_order},
    {"versionstamp", read_versionstamp},
    {NULL, NULL},
};

/* Refuses `each` for a part of the key: KX_BAD_INDEX. */
static enum kx_status refuse_array(struct declaration_parse *parse)
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
        return refuse_array(parse);
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
        status = read_field_path(parse, value, &draft);
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
    return parse_elements(parse, value, read_field);
}

/* ---- The member aggregate of store -------------------------------------- */

/* A sum being read. */
struct sum_draft {
    struct declared_sum sum;
    bool has_path;
};

static enum kx_status read_sum_path(struct declaration_parse *parse,
                                    struct kx_slice value, void *target)
{
    struct sum_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->sum.path);
}

static enum kx_status read_scale(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct sum_draft *draft = target;
    double scale = 0;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &scale) || scale < 0 || scale > KX_SCALE_MAX ||
        scale != (double)(size_t)scale)
        return declaration_parse_bad(
            parse, "a whole number from 0 to %d is expected: the decimals",
            KX_SCALE_MAX);
    draft->sum.scale = (size_t)scale;
    return KX_OK;
}

static const struct declaration_member sum_members[] = {
    {"path", read_sum_path},
    {"scale", read_scale},
    {NULL, NULL},
};

static enum kx_status check_sum(struct declaration_parse *parse,
                                const struct sum_draft *draft)
{
    const struct declaration *declaration = parse->declaration;
    if (!draft->has_path)
        return declaration_parse_bad(parse,
                                     "a sum has a path, such as "
                                     "{\"path\":\"/total\",\"scale\":2}");
    if (declaration->sum_count == KX_SUMS_MAX)
        return declaration_parse_bad(parse, "an index has at most %d sums",
                                     KX_SUMS_MAX);
    for (size_t i = 0; i < declaration->sum_count; i++)
        if (kx_equal(declaration->sums[i].path, draft->sum.path))
            return declaration_parse_bad(parse, "this path is summed already");
    return KX_OK;
}

/* Reads a sum: an object, or only its path, of whole numbers. */
static enum kx_status read_sum(struct declaration_parse *parse,
                               struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    struct sum_draft draft = {.has_path = false};
    enum kx_status status =
        kx_json_type(value) == KX_JSON_OBJECT
            ? declaration_parse_members(parse, value, sum_members, "a sum",
                                        &draft)
            : read_sum_path(parse, value, &draft);
    if (status == KX_OK)
        status = check_sum(parse, &draft);
    if (status == KX_OK)
        declaration->sums[declaration->sum_count++] = draft.sum;
    return status;
}

static enum kx_status read_sums(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    (void)target;
    return parse_elements(parse, value, read_sum);
}

static enum kx_status read_count(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    bool counts = false;
    (void)target;
    if (declaration_parse_flag(parse, value, &counts) != KX_OK || !counts)
        return declaration_parse_bad(
            parse, "an aggregate always counts: count is true");
    return KX_OK;
}

static const struct declaration_member aggregate_members[] = {
    {"count", read_count},
    {"sum", read_sums},
    {NULL, NULL},
};

static enum kx_status read_aggregate(struct declaration_parse *parse,
                                     struct kx_slice value, void *target)
{
    parse->declaration->store = STORE_AGGREGATE;
    return declaration_parse_members(parse, value, aggregate_members,
                                     "aggregate", target);
}

enum kx_status declaration_check_aggregate(struct declaration_parse *parse)
{
    const struct declaration *declaration = parse->declaration;
    if (!declaration_aggregates(declaration))
        return KX_OK;
    if (declaration->stored_count != 0)
        return declaration_parse_bad(
            parse, "store has either fields or aggregate, not both");
    if (declaration->feed)
        return declaration_parse_bad(
            parse, "an aggregate index has no versionstamp among its fields");
    for (size_t i = 0; i < declaration->field_count; i++)
        if (declaration->fields[i].descending)
            return declaration_parse_bad(
                parse, "an aggregate index has no order desc: read it with "
                       "reverse");
    if (declaration->unique)
        return declaration_parse_bad(
            parse, "an aggregate index counts entries of one value, so it "
                   "cannot be unique");
    if (declaration->adopt)
        return declaration_parse_bad(parse,
                                     "an aggregate index cannot adopt entries");
    return KX_OK;
}

void declaration_write_aggregate(const struct declaration *declaration,
                                 struct kx_buffer *out)
{
    char scale[32];
    kx_add_text(out, "{\"aggregate\":{\"count\":true");
    for (size_t i = 0; i < declaration->sum_count; i++) {
        kx_add_text(out, i == 0 ? ",\"sum\":[{\"path\":" : ",{\"path\":");
        kx_json_escape(declaration->sums[i].path, out);
        snprintf(scale, sizeof scale, ",\"scale\":%zu}",
                 declaration->sums[i].scale);
        kx_add_text(out, scale);
    }
    kx_add_text(out, declaration->sum_count == 0 ? "}}" : "]}}");
}

/* ---- The member store --------------------------------------------------- */

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
    enum kx_status status = parse_elements(parse, value, read_stored);
    if (status == KX_OK && parse->declaration->stored_count == 0)
        return declaration_parse_bad(parse,
                                     "at least one path is expected here");
    return status;
}

static const struct declaration_member store_members[] = {
    {"fields", declaration_read_stored},
    {"aggregate", read_aggregate},
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

/* ---- The member where --------------------------------------------------- */

/* A condition is {"path":"/age","ge":18,"lt":65}; `where` is one or an array.
 * Each comparison in it is one condition, and all must hold. An operand is kept
 * as an encoded key part, the form in which values are compared. */

/* A condition object being read. Its comparisons are the last conditions of the
 * declaration. */
struct condition_draft {
    struct kx_slice path;
    bool has_path;
    size_t key_part;
    enum fold fold;
    bool each;
};

static enum kx_status read_condition_path(struct declaration_parse *parse,
                                          struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->path);
}

static enum kx_status read_condition_key(struct declaration_parse *parse,
                                         struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return declaration_parse_count(parse, value,
                                   "which part of the key after the prefix",
                                   &draft->key_part);
}

static enum kx_status read_condition_fold(struct declaration_parse *parse,
                                          struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return read_fold(parse, value, &draft->fold);
}

static enum kx_status read_condition_each(struct declaration_parse *parse,
                                          struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return declaration_parse_flag(parse, value, &draft->each);
}

static enum kx_status add_condition(struct declaration_parse *parse,
                                    struct condition condition)
{
    struct declaration *declaration = parse->declaration;
    if (declaration->where_count == KX_WHERE_MAX)
        return declaration_parse_bad(
            parse, "an index has at most %d conditions", KX_WHERE_MAX);
    declaration->where[declaration->where_count++] = condition;
    return KX_OK;
}

static enum kx_status read_operand(struct declaration_parse *parse,
                                   struct kx_slice value,
                                   struct kx_slice *operand_out)
{
    struct kx_buffer part;
    kx_buffer_init(&part, parse->declaration);
    enum kx_status status = KX_OK;
    if (kx_json_type(value) != KX_JSON_NULL)
        status = indexable_add(value, FOLD_NONE, &part);
    if (status == KX_NO_MEMORY || part.failed)
        return declaration_parse_no_memory(parse);
    if (status != KX_OK)
        return declaration_parse_bad(parse,
                                     "a string, number, boolean or null is "
                                     "expected here");
    *operand_out = kx_buffer_slice(&part);
    return KX_OK;
}

static enum comparison comparison_of(const struct declaration_member *member)
{
    int comparison = WHERE_EQ;
    while (strcmp(declaration_comparison((enum comparison)comparison),
                  member->name) != 0)
        comparison++;
    return (enum comparison)comparison;
}

/* Reads any comparison with one value; the row of the table says which. */
static enum kx_status read_comparison(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct condition condition = {
        .comparison = comparison_of(parse->member),
        .values = talloc(parse->declaration, struct kx_slice),
        .value_count = 1};
    (void)target;
    if (condition.values == NULL)
        return declaration_parse_no_memory(parse);
    enum kx_status status = read_operand(parse, value, condition.values);
    if (status != KX_OK)
        return status;
    if (condition.comparison >= WHERE_GT && condition.values[0].size == 0)
        return declaration_parse_bad(parse,
                                     "null is not in the order of values");
    return add_condition(parse, condition);
}

static enum kx_status read_exists(struct declaration_parse *parse,
                                  struct kx_slice value, void *target)
{
    (void)target;
    struct condition condition = {.comparison = WHERE_EXISTS};
    enum kx_status status =
        declaration_parse_flag(parse, value, &condition.exists);
    return status == KX_OK ? add_condition(parse, condition) : status;
}

static enum kx_status read_in(struct declaration_parse *parse,
                              struct kx_slice value, void *target)
{
    struct condition condition = {.comparison = WHERE_IN};
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    (void)target;
    if (kx_json_type(value) != KX_JSON_ARRAY || !kx_json_iterate(value, &iter))
        return declaration_parse_bad(parse,
                                     "an array of values is expected here");
    condition.values =
        talloc_array(parse->declaration, struct kx_slice, KX_WHERE_VALUES_MAX);
    if (condition.values == NULL)
        return declaration_parse_no_memory(parse);
    while (kx_json_next(&iter, &none, &element)) {
        if (condition.value_count == KX_WHERE_VALUES_MAX)
            return declaration_parse_bad(
                parse, "at most %d values can stand here", KX_WHERE_VALUES_MAX);
        size_t end =
            declaration_parse_enter_element(parse, condition.value_count);
        enum kx_status status = read_operand(
            parse, element, &condition.values[condition.value_count++]);
        leave(parse, end);
        if (status != KX_OK)
            return status;
    }
    if (condition.value_count == 0)
        return declaration_parse_bad(parse,
                                     "at least one value is expected here");
    return add_condition(parse, condition);
}

/* The first three are allowed only in a query. */
static const struct declaration_member condition_members[] = {
    {"key", read_condition_key},
    {"fold", read_condition_fold},
    {"each", read_condition_each},
    {"path", read_condition_path},
    {"eq", read_comparison},
    {"ne", read_comparison},
    {"in", read_in},
    {"exists", read_exists},
    {"gt", read_comparison},
    {"ge", read_comparison},
    {"lt", read_comparison},
    {"le", read_comparison},
    {NULL, NULL},
};
enum { QUERIES_ONLY = 3 };

const char *declaration_comparison(enum comparison comparison)
{
    static const char *const names[] = {
        [WHERE_EQ] = "eq", [WHERE_NE] = "ne",         [WHERE_IN] = "in",
        [WHERE_GT] = "gt", [WHERE_EXISTS] = "exists", [WHERE_GE] = "ge",
        [WHERE_LT] = "lt", [WHERE_LE] = "le"};
    return names[comparison];
}

static enum kx_status check_subject(struct declaration_parse *parse,
                                    const struct condition_draft *draft)
{
    bool has_key = draft->key_part != 0;
    if (has_key && draft->each)
        return refuse_array(parse);
    if (draft->has_path != has_key)
        return KX_OK;
    if (parse->is_query)
        return declaration_parse_bad(parse,
                                     "a condition has either a path, such as "
                                     "\"/status\", or a key, such as 1");
    return declaration_parse_bad(
        parse, "a condition needs a path, such as \"/status\"");
}

/* Gives the operands the form of the values that they are compared with: folded
 * text, and 0 for -0 unless the condition is on a part of the key. Null, an
 * operand without bytes, stays. */
static enum kx_status fold_operands(struct declaration_parse *parse,
                                    struct condition *condition)
{
    bool unsigned_zero =
        condition->key_part == 0 && !parse->declaration->signed_zero;
    for (size_t i = 0; i < condition->value_count; i++) {
        struct kx_buffer folded;
        kx_buffer_init(&folded, parse->declaration);
        if (condition->values[i].size == 0)
            continue;
        indexable_fold(condition->values[i], condition->fold, &folded);
        if (folded.size == 0)
            return declaration_parse_no_memory(parse);
        if (unsigned_zero)
            indexable_unsign(&folded, 0);
        condition->values[i] = kx_buffer_slice(&folded);
    }
    return KX_OK;
}

static enum kx_status read_condition(struct declaration_parse *parse,
                                     struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    size_t before = declaration->where_count;
    struct condition_draft draft = {.has_path = false};
    size_t first = parse->is_query ? 0 : QUERIES_ONLY;
    enum kx_status status = declaration_parse_members(
        parse, value, condition_members + first, "a condition", &draft);
    if (status == KX_OK)
        status = check_subject(parse, &draft);
    if (status != KX_OK)
        return status;
    if (declaration->where_count == before)
        return declaration_parse_bad(parse,
                                     "a condition needs a comparison: eq, ne, "
                                     "in, exists, gt, ge, lt or le");
    for (size_t i = before; i < declaration->where_count; i++) {
        declaration->where[i].path = draft.path;
        declaration->where[i].key_part = draft.key_part;
        declaration->where[i].fold = draft.fold;
        declaration->where[i].each = draft.each;
        if (status == KX_OK)
            status = fold_operands(parse, &declaration->where[i]);
    }
    return status;
}

enum kx_status declaration_read_where(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    enum kx_status status = KX_OK;
    (void)target;
    if (kx_json_type(value) == KX_JSON_OBJECT)
        return read_condition(parse, value);
    if (kx_json_type(value) != KX_JSON_ARRAY || !kx_json_iterate(value, &iter))
        return declaration_parse_bad(parse,
                                     "where is a condition, such as {\"path\":"
                                     "\"/status\",\"eq\":\"active\"}, or an "
                                     "array of them");
    for (size_t i = 0; status == KX_OK && kx_json_next(&iter, &none, &element);
         i++) {
        size_t end = declaration_parse_enter_element(parse, i);
        status = read_condition(parse, element);
        leave(parse, end);
    }
    return status;
}

/* ---- Periods ------------------------------------------------------------ */

/* The longest unit first. */
static const struct period_unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
enum { UNITS = sizeof units / sizeof *units, DAYS_MAX = 3660 };

/* Returns the period in ms; 0: the text is not a period, or the period is too
 * long. */
static int64_t period_of(struct kx_slice text)
{
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < text.size && digits < 16 &&
           (uint8_t)(text.data[digits] - '0') < 10;
         digits++)
        number = number * 10 + (text.data[digits] - '0');
    struct kx_slice unit = kx_slice(text.data + digits, text.size - digits);
    for (size_t i = 0; digits > 0 && i < UNITS; i++)
        if (kx_equal(unit, kx_text(units[i].name)))
            return number <= DAYS_MAX * units[0].ms / units[i].ms
                       ? number * units[i].ms
                       : 0;
    return 0;
}

enum kx_status declaration_parse_period(struct declaration_parse *parse,
                                        struct kx_slice value, const char *name,
                                        int64_t *ms_out)
{
    struct kx_slice text = kx_slice(NULL, 0);
    enum kx_status status = KX_OK;
    if (kx_json_type(value) == KX_JSON_STRING)
        status = declaration_parse_text(parse, value, &text);
    if (status != KX_OK)
        return status;
    *ms_out = period_of(text);
    if (*ms_out != 0)
        return KX_OK;
    return declaration_parse_bad(parse,
                                 "%s a whole number with a unit, such as "
                                 "\"7d\", from \"1ms\" to \"%dd\"",
                                 name, DAYS_MAX);
}

void declaration_write_period(int64_t ms, struct kx_buffer *out)
{
    char text[32];
    size_t i = 0;
    while (ms % units[i].ms != 0)
        i++;
    snprintf(text, sizeof text, "\"%" PRId64 "%s\"", ms / units[i].ms,
             units[i].name);
    kx_add_text(out, text);
}

/* ---- The member tombstones ---------------------------------------------- */

enum kx_status declaration_read_tombstones(struct declaration_parse *parse,
                                           struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    return declaration_parse_period(parse, value, "tombstones is",
                                    &declaration->tombstones_ms);
}

void declaration_write_tombstones(const struct declaration *declaration,
                                  struct kx_buffer *out)
{
    if (declaration->tombstones_ms == 0)
        return;
    kx_add_text(out, ",\"tombstones\":");
    declaration_write_period(declaration->tombstones_ms, out);
}

/* ---- The member queue --------------------------------------------------- */

enum { LEASE_DEFAULT_MS = 60000 };

static enum kx_status read_lease(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct declared_queue *queue = target;
    return declaration_parse_period(parse, value, "the lease is",
                                    &queue->lease_ms);
}

static enum kx_status read_retry(struct declaration_parse *parse,
                                 struct kx_slice value)
{
    struct declared_queue *queue = &parse->declaration->queue;
    if (queue->retry_count == KX_RETRIES_MAX)
        return declaration_parse_bad(parse, "a queue has at most %d retries",
                                     KX_RETRIES_MAX);
    return declaration_parse_period(parse, value, "the pause before a retry is",
                                    &queue->retries_ms[queue->retry_count++]);
}

static enum kx_status read_retries(struct declaration_parse *parse,
                                   struct kx_slice value, void *target)
{
    (void)target;
    if (kx_json_type(value) != KX_JSON_ARRAY)
        return declaration_parse_bad(parse, "retries is an array of pauses, "
                                            "such as [\"1s\",\"60s\"]");
    return parse_elements(parse, value, read_retry);
}

static enum kx_status read_dead(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct declared_queue *queue = target;
    enum kx_status status =
        declaration_parse_prefix(parse, value, "dead", &queue->dead);
    if (status == KX_OK && queue->dead.size == 0)
        return declaration_parse_bad(parse, "the prefix of dead jobs has at "
                                            "least one part");
    return status;
}

static const struct declaration_member queue_members[] = {
    {"lease", read_lease},
    {"retries", read_retries},
    {"dead", read_dead},
    {NULL, NULL},
};

enum kx_status declaration_read_queue(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct declaration *declaration = target;
    declaration->queue.declared = true;
    declaration->queue.lease_ms = LEASE_DEFAULT_MS;
    return declaration_parse_members(parse, value, queue_members, "a queue",
                                     &declaration->queue);
}

static enum kx_status check_due(struct declaration_parse *parse,
                                const struct field *due)
{
    if (due->key_part != 0 || due->versionstamp || due->descending ||
        due->fold != FOLD_NONE)
        return declaration_parse_bad(
            parse, "the last field of a queue is the path of the time when a "
                   "job is due, such as \"/due\"");
    return KX_OK;
}

/* Claims read the index in the order of times, and write each job's index entry
 * again. */
enum kx_status declaration_check_queue(struct declaration_parse *parse)
{
    struct declaration *declaration = parse->declaration;
    if (!declaration->queue.declared)
        return KX_OK;
    if (declaration->unique || declaration->has_each || declaration->adopt ||
        declaration->store != STORE_POINTER)
        return declaration_parse_bad(
            parse, "a queue is neither unique nor adopts entries, has no field "
                   "with each, and stores pointers");
    if (declaration->prefix.size == 0)
        return declaration_parse_bad(
            parse, "a queue needs a prefix with at least one part");
    if (declaration->queue.dead.size != 0 &&
        declaration_prefixes_overlap(declaration->prefix,
                                     declaration->queue.dead)) {
        declaration_parse_enter(parse, kx_text("queue"));
        declaration_parse_enter(parse, kx_text("dead"));
        return declaration_parse_bad(
            parse, "the prefix of dead jobs lies outside of the queue's");
    }
    struct field *due = &declaration->fields[declaration->field_count - 1];
    due->due = true;
    return check_due(parse, due);
}

void declaration_write_queue(const struct declaration *declaration,
                             struct kx_buffer *out)
{
    const struct declared_queue *queue = &declaration->queue;
    if (!queue->declared)
        return;
    kx_add_text(out, ",\"queue\":{\"lease\":");
    declaration_write_period(queue->lease_ms, out);
    kx_add_text(out, ",\"retries\":[");
    for (size_t i = 0; i < queue->retry_count; i++) {
        kx_add(out, ",", i > 0);
        declaration_write_period(queue->retries_ms[i], out);
    }
    kx_add_byte(out, ']');
    if (queue->dead.size != 0) {
        kx_add_text(out, ",\"dead\":");
        kx_key_to_json(queue->dead, out);
    }
    kx_add_byte(out, '}');
}
