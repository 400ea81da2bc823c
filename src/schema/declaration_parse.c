/* Reads the parts of a declaration: the JSON Pointer for errors, objects by
 * tables of members, and the few kinds of values. */
#include "schema/declaration_parse.h"

#include <stdarg.h>
#include <stdio.h>

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

/* ---- The position in the document
 * ------------------------------------------ */

/* A name that does not fit is left out: the pointer is then of the object
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

void declaration_parse_leave(struct declaration_parse *parse, size_t end)
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
        declaration_parse_leave(parse, end);
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

enum kx_status declaration_parse_elements(
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
        declaration_parse_leave(parse, end);
    }
    return status;
}
