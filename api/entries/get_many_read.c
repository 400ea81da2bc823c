/* The document of POST /get: {"keys":[[...],...],"ranges":[{"prefix":[...],
 * "limit":10},...]}. A range has the members that GET /list has as parameters,
 * and goes through the same selection and page. */
#include "entries/get_many_read.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/member_table.h"

/* ---- A range ------------------------------------------------------------ */

/* The range being read. */
struct range_reading {
    struct range_target target; /* first */
    struct get_many_range *range;
    void *memory;
};

static struct selection *selection_of(void *target)
{
    return ((struct range_target *)target)->selection;
}

static bool read_bound(struct kx_slice value, bool *has, struct kx_buffer *key,
                       struct input_error *error)
{
    *has = true;
    return key_text_from_json(value, key, error);
}

bool range_member_prefix(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct selection *selection = selection_of(target);
    return read_bound(value, &selection->has_prefix, &selection->prefix, error);
}

bool range_member_start(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct selection *selection = selection_of(target);
    return read_bound(value, &selection->has_start, &selection->start, error);
}

bool range_member_end(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct selection *selection = selection_of(target);
    return read_bound(value, &selection->has_end, &selection->end, error);
}

bool range_member_index(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct selection *selection = selection_of(target);
    selection->has_index = true;
    if (!member_table_text(value, &selection->index, error))
        return false;
    return selection->index.size > 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The name of the index is empty: name an index, or "
                           "leave out index to read the entries themselves.");
}

bool range_member_reverse(void *target, struct kx_slice value,
                          struct input_error *error)
{
    struct selection *selection = selection_of(target);
    return member_table_flag(value, &selection->reverse, error);
}

static bool range_keys(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_flag(value, &reading->range->page.shape.keys_only,
                             error);
}

static bool range_fields(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return projection_read_array(value, reading->memory,
                                 &reading->range->page.shape.fields, error);
}

static bool range_limit(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_whole(value, KX_PAGE_MAX, &reading->range->page.limit,
                              error);
}

static bool range_cursor(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return member_table_text(value, &reading->range->cursor, error);
}

static const struct member RANGE_MEMBERS[] = {
    {"prefix", range_member_prefix},
    {"start", range_member_start},
    {"end", range_member_end},
    {"reverse", range_member_reverse},
    {"limit", range_limit},
    {"cursor", range_cursor},
    {"keys", range_keys},
    {"index", range_member_index},
    {"fields", range_fields},
    {NULL, NULL},
};

static bool read_range(struct get_many_read *targets, struct kx_slice value,
                       struct get_many_range *range, struct input_error *error)
{
    struct range_reading reading = {.target = {&range->selection},
                                    .range = range,
                                    .memory = targets->memory};
    selection_init(&range->selection, targets->memory);
    kx_buffer_init(&range->cursor, targets->memory);
    range->page.limit = PAGE_LIMIT_DEFAULT;
    if (!member_table_read(value, RANGE_MEMBERS, &reading, error))
        return false;
    targets->total += range->page.limit;
    return true;
}

/* The page keeps slices of the selection. */
static bool select_range(struct get_many_range *range,
                         const struct request *request, void *memory,
                         struct input_error *error)
{
    if (selection_fold(&range->selection, request, error) &&
        page_begin(&range->page, &range->selection,
                   kx_buffer_slice(&range->cursor), memory, error))
        return true;
    /* Here it is a member of the body, not a parameter of the query. */
    if (error->code == PROBLEM_BAD_PARAMETER)
        error->code = PROBLEM_BAD_REQUEST;
    error->parameter = kx_slice(NULL, 0);
    return false;
}

bool get_many_select(struct get_many_read *targets,
                     const struct request *request, struct input_error *error)
{
    for (size_t i = 0; i < targets->range_count; i++)
        if (!select_range(&targets->ranges[i], request, targets->memory,
                          error)) {
            input_error_in_element(error, i);
            return input_error_in_member(error, "ranges");
        }
    return true;
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
    return read_range(targets, value, &targets->ranges[targets->range_count++],
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
    targets->ranges =
        talloc_zero_array(targets->memory, struct get_many_range, count);
    return targets->ranges == NULL
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
    *targets_out = (struct get_many_read){.memory = targets_out->memory};
    if (!member_table_read(document, DOCUMENT_MEMBERS, targets_out, error))
        return false;
    return targets_out->total <= KX_PAGE_MAX || too_many(error);
}
