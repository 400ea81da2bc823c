/* An entry that the document of POST /atomic names by its value in a unique
 * index: {"index":"users_by_email","value":["ada@example.org"]}. */
#include "commits/atomic.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/document.h"

struct by_reading {
    void *memory;
    struct kx_by *by;
};

static bool by_index(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct by_reading *reading = target;
    struct kx_buffer name;
    kx_buffer_init(&name, reading->memory);
    if (!document_text(value, &name, error))
        return false;
    reading->by->index = kx_buffer_slice(&name);
    return !name.failed || input_error_no_memory(error);
}

static bool by_value(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct by_reading *reading = target;
    return key_text_entry_from_json(value, reading->memory, &reading->by->value,
                                    error);
}

static const struct member BY_MEMBERS[] = {
    {"index", by_index},
    {"value", by_value},
    {NULL, NULL},
};

bool atomic_read_by(struct kx_slice value, void *memory,
                    const struct kx_by **by_out, struct input_error *error)
{
    struct by_reading reading = {memory, talloc_zero(memory, struct kx_by)};
    if (reading.by == NULL)
        return input_error_no_memory(error);
    *by_out = reading.by;
    if (!document_read(value, BY_MEMBERS, &reading, error))
        return false;
    return (reading.by->index.size > 0 && reading.by->value.size > 0) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "by has the name of a unique index, and a value: "
                           "an array of its fields.");
}
