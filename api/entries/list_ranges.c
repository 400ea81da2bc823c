/* Reads what a list of several ranges is asked for by. */
#include "entries/list_ranges.h"

#include <talloc.h>

#include "entries/get_many_read.h"

static bool make_several(const struct list_ranges *list, struct page *page,
                         void *memory, struct input_error *error)
{
    page->several = talloc_zero(memory, struct page_ranges);
    if (page->several == NULL)
        return input_error_no_memory(error);
    page->several->ranges.merge = list->merge;
    page->several->ranges.count = list->count;
    return page_begin_several(page, list->selections,
                              kx_buffer_slice(&list->cursor), memory, error);
}

/* ---- In a query --------------------------------------------------------- */

static bool bad(struct input_error *error, enum parameter parameter,
                const char *detail)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER, "%s", detail);
    error->parameter = kx_text(query_params_name(parameter));
    return false;
}

static bool is_possible(const struct query_params *query,
                        struct input_error *error)
{
    static const unsigned OTHERS = TAKES_START | TAKES_END | TAKES_SHARE;
    if (!query_params_has(query, PARAMETER_IN))
        return bad(error, PARAMETER_ORDER,
                   "order is for a list of several ranges: give them by in.");
    if (!query_params_has(query, PARAMETER_INDEX))
        return bad(error, PARAMETER_IN,
                   "in gives values of the fields of an index: name it by "
                   "index. Ranges of entries are listed by POST /list.");
    if ((query->given & OTHERS) != 0)
        return bad(error, PARAMETER_IN,
                   "in cannot be combined with start, end or share. "
                   "Ranges with bounds are listed by POST /list.");
    if (query->key_count > KX_RANGES_MAX) {
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "in is given %zu times; a list has at most %d ranges.",
                        query->key_count, KX_RANGES_MAX);
        error->parameter = kx_text(query_params_name(PARAMETER_IN));
        return false;
    }
    return true;
}

/* Appends values to the prefix of a selection. */
static bool add_values(struct query_params *query, struct kx_slice values,
                       struct kx_buffer *prefix, struct input_error *error)
{
    size_t before = prefix->size;
    query->raw[PARAMETER_IN] = values;
    if (!query_params_key(query, PARAMETER_IN, prefix, error))
        return false;
    return prefix->size > before ||
           bad(error, PARAMETER_IN,
               "in has no value: give those of the fields that follow the "
               "prefix.");
}

/* The selection with each of the values after its prefix. */
static bool select_in(struct list_ranges *list, struct query_params *query,
                      const struct selection *selection,
                      const struct request *request, struct input_error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        struct selection *out = &list->selections[i];
        selection_init(out, request->memory);
        out->has_prefix = out->has_index = true;
        out->reverse = selection->reverse;
        kx_add_slice(&out->index, kx_buffer_slice(&selection->index));
        kx_add_slice(&out->prefix, kx_buffer_slice(&selection->prefix));
        if (!add_values(query, query->keys[i], &out->prefix, error))
            return false;
        if (out->index.failed || out->prefix.failed)
            return input_error_no_memory(error);
        if (!selection_fold(out, request, error))
            return false;
    }
    return true;
}

bool list_ranges_in(const struct query_params *query,
                    const struct selection *selection, struct page *page,
                    const struct request *request, struct input_error *error)
{
    struct query_params each = *query;
    struct list_ranges list = {.count = query->key_count};
    if (!is_possible(query, error) ||
        !query_params_order(query, &list.merge, error))
        return false;
    kx_buffer_init(&list.cursor, request->memory);
    list.selections =
        talloc_array(request->memory, struct selection, list.count);
    if (list.selections == NULL)
        return input_error_no_memory(error);
    if (!select_in(&list, &each, selection, request, error))
        return false;
    if (query_params_has(query, PARAMETER_CURSOR) &&
        !query_params_text(query, PARAMETER_CURSOR, &list.cursor, error))
        return false;
    return make_several(&list, page, request->memory, error);
}

/* ---- In a document ------------------------------------------------------ */

struct list_reading {
    struct list_ranges *list;
    struct page *page;
    void *memory;
};

static const struct member RANGE_MEMBERS[] = {
    {"prefix", range_member_prefix},   {"start", range_member_start},
    {"end", range_member_end},         {"index", range_member_index},
    {"reverse", range_member_reverse}, {NULL, NULL},
};

static bool read_each(struct list_ranges *list, struct kx_slice array,
                      void *memory, struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++) {
        struct range_target target = {&list->selections[i]};
        selection_init(target.selection, memory);
        if (!member_table_read(value, RANGE_MEMBERS, &target, error))
            return input_error_in_element(error, i);
    }
    return true;
}

static bool read_ranges(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    struct list_ranges *list = reading->list;
    if (!member_table_count(array, &list->count, error))
        return false;
    if (list->count < 1 || list->count > KX_RANGES_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A list has 1 to %d ranges, not %zu.",
                               KX_RANGES_MAX, list->count);
    list->selections =
        talloc_array(reading->memory, struct selection, list->count);
    return list->selections == NULL
               ? input_error_no_memory(error)
               : read_each(list, array, reading->memory, error);
}

static bool read_order(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct list_reading *reading = target;
    struct kx_buffer text;
    kx_buffer_init(&text, reading->memory);
    if (!member_table_text(value, &text, error))
        return false;
    reading->list->merge = kx_equal(kx_buffer_slice(&text), kx_text("merge"));
    return reading->list->merge ||
           kx_equal(kx_buffer_slice(&text), kx_text("concat")) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The order is \"merge\" (all ranges in one order) "
                           "or \"concat\" (one after another).");
}

static bool read_limit(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct list_reading *reading = target;
    return member_table_whole(value, KX_PAGE_MAX, &reading->page->limit, error);
}

static bool read_cursor(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    return member_table_text(value, &reading->list->cursor, error);
}

static bool read_keys(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct list_reading *reading = target;
    return member_table_flag(value, &reading->page->shape.keys_only, error);
}

static bool read_fields(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    return projection_read_array(value, reading->memory,
                                 &reading->page->shape.fields, error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"ranges", read_ranges},
    {"order", read_order},
    {"limit", read_limit},
    {"cursor", read_cursor},
    {"keys", read_keys},
    {"fields", read_fields},
    {NULL, NULL},
};

bool list_ranges_read(struct kx_slice document, struct list_ranges *list_out,
                      struct page *page, const struct request *request,
                      struct input_error *error)
{
    struct list_reading reading = {
        .list = list_out, .page = page, .memory = request->memory};
    *list_out = (struct list_ranges){.count = 0};
    kx_buffer_init(&list_out->cursor, request->memory);
    if (!member_table_read(document, DOCUMENT_MEMBERS, &reading, error))
        return false;
    return list_out->count > 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The document has no ranges: {\"ranges\":"
                           "[{\"prefix\":[...]},...]}.");
}

/* Here it is a member of the body, not a parameter of the query. */
static bool in_body(const struct list_ranges *list, const struct page *page,
                    struct input_error *error)
{
    size_t failed =
        page->several == NULL ? list->count : page->several->ranges.failed;
    if (error->code == PROBLEM_BAD_PARAMETER)
        error->code = PROBLEM_BAD_REQUEST;
    error->parameter = kx_slice(NULL, 0);
    if (failed == list->count)
        return false;
    input_error_in_element(error, failed);
    return input_error_in_member(error, "ranges");
}

bool list_ranges_select(struct list_ranges *list, struct page *page,
                        const struct request *request,
                        struct input_error *error)
{
    for (size_t i = 0; i < list->count; i++)
        if (!selection_fold(&list->selections[i], request, error))
            return input_error_no_memory(error);
    return make_several(list, page, request->memory, error) ||
           in_body(list, page, error);
}
