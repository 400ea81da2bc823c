/* Reads documents without copying, except the characters of strings. */
#include "rest/document.h"

#include <stdio.h>

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* Member names are plain words: a name written with escapes is unknown. */
static const struct member *find(const struct member *table,
                                 struct kx_slice name)
{
    for (; table->name != NULL; table++)
        if (kx_equal(name, kx_text(table->name)))
            return table;
    return NULL;
}

/* Offers every name of the table, so that the problem can suggest the nearest
 * one. */
static bool unknown(const struct member *table, struct kx_slice name,
                    struct input_error *error)
{
    char shown[KX_EXCERPT_MAX + 1];
    snprintf(shown, sizeof shown, "%.*s", kx_excerpt_size(name),
             (const char *)name.data);
    input_error_set(error, PROBLEM_UNKNOWN_MEMBER,
                    "The member \"%s\" is unknown here.", shown);
    for (; table->name != NULL; table++)
        input_error_offer(error, name, table->name);
    return input_error_in_member(error, shown);
}

bool document_read(struct kx_slice object, const struct member *table,
                   void *target, struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice value;
    if (!kx_json_iterate(object, &iter) || !iter.object)
        return bad(error, "A JSON object is expected here.");
    while (kx_json_next(&iter, &token, &value)) {
        struct kx_slice name = kx_slice(token.data + 1, token.size - 2);
        const struct member *member = find(table, name);
        if (member == NULL)
            return unknown(table, name, error);
        if (!member->read(target, value, error))
            return input_error_in_member(error, member->name);
    }
    return true;
}

bool document_count(struct kx_slice array, size_t *count_out,
                    struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (!kx_json_iterate(array, &iter) || iter.object)
        return bad(error, "A JSON array is expected here.");
    size_t count = 0;
    while (kx_json_next(&iter, &name, &value))
        count++;
    *count_out = count;
    return true;
}

bool document_flag(struct kx_slice value, bool *flag_out,
                   struct input_error *error)
{
    enum kx_json_type type = kx_json_type(value);
    if (type != KX_JSON_TRUE && type != KX_JSON_FALSE)
        return bad(error, "true or false is expected here.");
    *flag_out = type == KX_JSON_TRUE;
    return true;
}

/* Numbers are compared as doubles, so 1e2 and 100.0 are whole numbers too. */
bool document_whole(struct kx_slice value, size_t max, size_t *number_out,
                    struct input_error *error)
{
    double number;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &number) || !(number >= 1) ||
        number > (double)max || number != (double)(size_t)number)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "A whole number from 1 to %zu is expected here, not "
            "%.*s.",
            max, kx_excerpt_size(value), (const char *)value.data);
    *number_out = (size_t)number;
    return true;
}

bool document_text(struct kx_slice value, struct kx_buffer *out,
                   struct input_error *error)
{
    if (kx_json_type(value) != KX_JSON_STRING)
        return bad(error, "A string is expected here.");
    kx_json_unescape(value, out);
    return !out->failed || input_error_no_memory(error);
}
