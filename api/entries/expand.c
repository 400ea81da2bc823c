/* Shows the entries to which others refer. */
#include "entries/expand.h"

#include <talloc.h>

#include "access/access.h"
#include "http/problem.h"
#include "rest/document.h"
#include "rest/key_text.h"

/* A reference that is followed. */
struct expanded_path {
    struct kx_slice path;
    struct kx_buffer to; /* size 0: as the rules declare it */
};

struct expanding {
    const struct request *request;
    struct expanded_path list[EXPANSIONS_MAX];
    size_t count;
    struct kx_expander *expander;
    struct kx_buffer record; /* of a target */
    struct kx_buffer name;   /* the first part of its key */
};

static struct expanding *make(const struct request *request)
{
    struct expanding *expansion =
        talloc_zero(request->memory, struct expanding);
    if (expansion == NULL)
        return NULL;
    expansion->request = request;
    expansion->expander = kx_expander_make(request->memory);
    kx_buffer_init(&expansion->record, request->memory);
    kx_buffer_init(&expansion->name, request->memory);
    return expansion->expander == NULL ? NULL : expansion;
}

/* Returns the bytes of the text before the first of this byte, or all. */
static size_t size_before(struct kx_slice text, char byte)
{
    const uint8_t *at =
        text.size == 0 ? NULL : memchr(text.data, byte, text.size);
    return at == NULL ? text.size : (size_t)(at - text.data);
}

static bool check_path(const struct expanding *expansion, struct kx_slice path,
                       struct input_error *error)
{
    for (size_t i = 0; i < expansion->count; i++)
        if (kx_equal(expansion->list[i].path, path))
            return input_error_set(error, PROBLEM_BAD_REQUEST,
                                   "expand names the reference %.*s twice.",
                                   (int)kx_utf8_fit(path, KX_EXCERPT_MAX),
                                   (const char *)path.data);
    if (expansion->count == EXPANSIONS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A read expands at most %d references.",
                               EXPANSIONS_MAX);
    return (path.size > 0 && path.data[0] == '/' &&
            path.size <= KX_POINTER_MAX) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "expand takes JSON Pointers to references, such as "
                           "/user, or with the prefix of the other entries "
                           "/user:users.");
}

/* Reads "/user" or "/user:users". */
static bool add_one(struct expanding *expansion, struct kx_slice text,
                    struct input_error *error)
{
    size_t size = size_before(text, ':');
    if (!check_path(expansion, kx_slice(text.data, size), error))
        return false;
    struct expanded_path *followed = &expansion->list[expansion->count++];
    kx_buffer_init(&followed->to, expansion->request->memory);
    followed->path = kx_slice(text.data, size);
    return size == text.size ||
           key_text_from_path(
               kx_slice(text.data + size + 1, text.size - size - 1),
               &followed->to, error);
}

static bool add_list(struct expanding *expansion, struct kx_slice text,
                     struct input_error *error)
{
    for (;;) {
        size_t size = size_before(text, ',');
        if (!add_one(expansion, kx_slice(text.data, size), error))
            return false;
        if (size == text.size)
            return true;
        text = kx_slice(text.data + size + 1, text.size - size - 1);
    }
}

/* Turns the error of a text into one of the parameter. */
static bool in_parameter(struct input_error *error)
{
    if (error->code == PROBLEM_BAD_REQUEST || error->code == PROBLEM_BAD_KEY)
        error->code = PROBLEM_BAD_PARAMETER;
    error->parameter = kx_text(query_params_name(PARAMETER_EXPAND));
    return false;
}

bool expand_read(const struct request *request,
                 const struct query_params *query,
                 struct expanding **expansion_out, struct input_error *error)
{
    struct kx_buffer text;
    *expansion_out = NULL;
    if (!query_params_has(query, PARAMETER_EXPAND))
        return true;
    kx_buffer_init(&text, query->memory);
    if (!query_params_text(query, PARAMETER_EXPAND, &text, error))
        return false;
    *expansion_out = make(request);
    if (*expansion_out == NULL)
        return input_error_no_memory(error);
    return add_list(*expansion_out, kx_buffer_slice(&text), error) ||
           in_parameter(error);
}

bool expand_read_array(const struct request *request, struct kx_slice array,
                       struct expanding **expansion_out,
                       struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!document_count(array, &count, error))
        return false;
    *expansion_out = make(request);
    if (*expansion_out == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++) {
        struct kx_buffer text;
        kx_buffer_init(&text, request->memory);
        if (!document_text(value, &text, error) ||
            !add_one(*expansion_out, kx_buffer_slice(&text), error))
            return input_error_in_element(error, i);
    }
    return true;
}

size_t expand_limit(const struct expanding *expansion, size_t limit)
{
    size_t most = expansion == NULL || expansion->count == 0
                      ? limit
                      : EXPANDED_ENTRIES_MAX / expansion->count;
    return limit < most ? limit : most;
}

/* Returns whether the caller may see an entry of this key. Nothing refers to
 * the entries of an index, which have the rights of its prefix. */
static bool may_see(struct expanding *expansion, struct kx_slice key)
{
    struct kx_buffer *name = &expansion->name;
    struct kx_index_info info;
    if (!access_covers(expansion->request, SCOPE_READ, key))
        return false;
    kx_buffer_clear(name);
    kx_key_index_name(kx_slice(key.data, kx_part_size(key)), name);
    return !name->failed &&
           (name->size == 0 ||
            kx_index_find(expansion->request->reader, kx_buffer_slice(name),
                          &info) != KX_OK);
}

/* Reads the target. KX_ABSENT: it does not exist or the caller may not read it.
 */
static enum kx_status read_referred(struct expanding *expansion,
                                    const struct expanded_path *followed,
                                    const struct kx_entry *entry,
                                    struct kx_entry *referred_out)
{
    struct kx_reader *reader = expansion->request->reader;
    struct kx_reference reference = {followed->path,
                                     kx_buffer_slice(&followed->to)};
    struct kx_slice key;
    struct kx_fault fault = {.status = KX_OK};
    enum kx_status status =
        kx_expander_find(reader, expansion->expander, entry, &reference, &key);
    if (status != KX_OK)
        return status;
    if (!may_see(expansion, key))
        return KX_ABSENT;
    return kx_read(reader, key, &expansion->record, referred_out, &fault);
}

/* Appends the target, or null. */
static void add_entry(struct expanding *expansion,
                      const struct expanded_path *followed,
                      const struct kx_entry *entry, struct kx_buffer *out)
{
    struct kx_entry referred;
    enum kx_status status =
        read_referred(expansion, followed, entry, &referred);
    if (status == KX_OK)
        entryjson_write(&referred, out);
    else
        kx_add_text(out, "null");
    out->failed |= status != KX_OK && status != KX_ABSENT;
}

/* Adds the member before the closing brace of the entry. */
static void add_expanded(struct expanding *expansion,
                         const struct kx_entry *entry, struct kx_buffer *out)
{
    if (out->failed || out->size == 0)
        return;
    out->size--;
    kx_add_text(out, ",\"expanded\":{");
    for (size_t i = 0; i < expansion->count; i++) {
        kx_add(out, ",", i > 0);
        kx_json_escape(expansion->list[i].path, out);
        kx_add_byte(out, ':');
        add_entry(expansion, &expansion->list[i], entry, out);
    }
    kx_add_text(out, "}}");
}

void expand_write(const struct kx_entry *entry, const struct shape *shape,
                  struct kx_buffer *out)
{
    entryjson_write_shaped(entry, shape, out);
    if (shape->expansion != NULL && !entry->deleted)
        add_expanded(shape->expansion, entry, out);
}
