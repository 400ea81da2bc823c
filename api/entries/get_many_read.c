/* The document of POST /get: {"keys":[[...],...],"ranges":[{"prefix":[...],
 * "limit":10},...]}. A range has the members that GET /list has as parameters,
 * and goes through the same selection and page. */
#include "entries/get_many_read.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/member_table.h"

/* ---- A range ------------------------------------------------------------ */

/* The range being read. Its parts are put together when all members are
 * there. */
struct range_reading {
    struct page *page;
    struct selection *selection;
    struct kx_buffer cursor;
    void *memory;
};

static bool read_bound(struct kx_slice value, bool *has, struct kx_buffer *key,
                       struct input_error *error)
{
    *has = true;
    return key_text_from_json(value, key, error);
}

static bool range_prefix(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct selection *selection = ((struct range_reading *)target)->selection;
    return read_bound(value, &selection->has_prefix, &selection->prefix, error);
}

static bool range_start(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct selection *selection = ((struct range_reading *)target)->selection;
    return read_bound(value, &selection->has_start, &selection->start, error);
}

static bool range_end(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct selection *selection = ((struct range_reading *)target)->selection;
    return read_bound(value, &selection->has_end, &selection->end, error);
}

static bool range_index(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct selection *selection = ((struct range_reading *)target)->selection;
    selection->has_index = true;
    if (!member_table_text(value, &selection->index, error))
        return false;
    return selection->index.size > 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The name of the index is empty: name an index, or "
                           "leave out index to read the entries themselves.");
}

static bool range_reverse(void *target, struct kx_slice value,
                          struct input_error *error)
{
    struct selection *selection = ((struct range_reading *)target)->selection;
    return member_table_flag(value, &selection->reverse, error);
}

static bool range_keys(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_flag(value, &reading->page->shape.keys_only, error);
}

static bool range_fields(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return projection_read_array(value, reading->memory,
                                 &reading->page->shape.fields, error);
}

static bool range_limit(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_whole(value, KX_PAGE_MAX, &reading->page->limit, error);
}

static bool range_cursor(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_text(value, &reading->cursor, error);
}

static const struct member RANGE_MEMBERS[] = {
    {"prefix", range_prefix}, {"start", range_start},
    {"end", range_end},       {"reverse", range_reverse},
    {"limit", range_limit},   {"cursor", range_cursor},
    {"keys", range_keys},     {"index", range_index},
    {"fields", range_fields}, {NULL, NULL},
};

/* The selection outlives this call: the page keeps slices of it. */
static bool read_range(struct get_many_read *targets, struct kx_slice value,
                       struct page *page, struct input_error *error)
{
    struct range_reading reading = {.page = page, .memory = targets->memory};
    reading.selection = talloc(targets->memory, struct selection);
    if (reading.selection == NULL)
        return input_error_no_memory(error);
    selection_init(reading.selection, targets->memory);
    kx_buffer_init(&reading.cursor, targets->memory);
    page->limit = PAGE_LIMIT_DEFAULT;
    if (!member_table_read(value, RANGE_MEMBERS, &reading, error))
        return false;
    targets->total += page->limit;
    if (selection_fold(reading.selection, targets->request, error) &&
        page_begin(page, reading.selection, kx_buffer_slice(&reading.cursor),
                   targets->memory, error))
        return true;
    /* Here it is a member of the body, not a parameter of the query. */
    if (error->code == PROBLEM_BAD_PARAMETER)
        error->code = PROBLEM_BAD_REQUEST;
    error->parameter = kx_slice(NULL, 0);
    return false;
}

/* ---- The document ------------------------------------------------------- */

static bool too_many(struct input_error *error)
{
    return input_error_set(
        error, PROBLEM_BAD_REQUEST,
        "A request may ask for at most %d entries, counting each key and the "
        "limit of each range; the default limit of a range is %d.",
        KX_PAGE_MAX, PAGE_LIMIT_DEFAULT);
}

static bool take_key(struct get_many_read *targets, struct kx_slice value,
                     struct input_error *error)
{
    targets->total++;
    return key_text_entry_from_json(
        value, targets->memory, &targets->keys[targets->key_count++], error);
}

static bool take_range(struct get_many_read *targets, struct kx_slice value,
                       struct input_error *error)
{
    return read_range(targets, value, &targets->pages[targets->page_count++],
                      error);
}

static bool take_each(struct get_many_read *targets, struct kx_slice array,
                      bool (*take)(struct get_many_read *targets,
                                   struct kx_slice value,
                                   struct input_error *error),
                      struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++)
        if (!take(targets, value, error))
            return input_error_in_element(error, i);
    return true;
}

/* Before anything is allocated for them. */
static bool count_elements(struct kx_slice array, size_t *count_out,
                           struct input_error *error)
{
    return member_table_count(array, count_out, error) &&
           (*count_out <= KX_PAGE_MAX || too_many(error));
}

static bool read_keys(void *target, struct kx_slice array,
                      struct input_error *error)
{
    struct get_many_read *targets = target;
    size_t count;
    if (!count_elements(array, &count, error))
        return false;
    targets->keys = talloc_array(targets->memory, struct kx_slice, count);
    return targets->keys == NULL ? input_error_no_memory(error)
                                 : take_each(targets, array, take_key, error);
}

static bool read_ranges(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct get_many_read *targets = target;
    size_t count;
    if (!count_elements(array, &count, error))
        return false;
    targets->pages = talloc_zero_array(targets->memory, struct page, count);
    return targets->pages == NULL
               ? input_error_no_memory(error)
               : take_each(targets, array, take_range, error);
}

static bool read_fields(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct get_many_read *targets = target;
    return projection_read_array(array, targets->memory, &targets->shape.fields,
                                 error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"keys", read_keys},
    {"ranges", read_ranges},
    {"fields", read_fields},
    {NULL, NULL},
};

bool get_many_read(struct kx_slice document, struct get_many_read *targets_out,
                   struct input_error *error)
{
    *targets_out = (struct get_many_read){.request = targets_out->request,
                                          .memory = targets_out->memory};
    if (!member_table_read(document, DOCUMENT_MEMBERS, targets_out, error))
        return false;
    return targets_out->total <= KX_PAGE_MAX || too_many(error);
}
