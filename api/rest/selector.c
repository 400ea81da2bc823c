/* Makes bounds in the order of encoded keys. There a key is followed by the
 * keys that begin with it and have more parts. The tag of a part is between 00
 * and ff, so "prefix 00" is before all of these keys and "prefix ff" after
 * them. */
#include "rest/selector.h"

#include <talloc.h>

#include "access/access.h"
#include "rest/cursor.h"
#include "rest/key_text.h"

void selection_init(struct selection *selection, const void *memory)
{
    *selection = (struct selection){0};
    kx_buffer_init(&selection->prefix, memory);
    kx_buffer_init(&selection->start, memory);
    kx_buffer_init(&selection->end, memory);
    kx_buffer_init(&selection->index, memory);
}

/* Reads one key parameter, if it is given. */
static bool read_key(const struct query_params *query, enum parameter parameter,
                     bool *has_out, struct kx_buffer *key,
                     struct input_error *error)
{
    *has_out = query_params_has(query, parameter);
    return !*has_out || query_params_key(query, parameter, key, error);
}

static bool no_name(struct input_error *error)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "The name of the index is empty: name an index, or leave "
                    "out index to read the entries themselves.");
    error->parameter = kx_text(query_params_name(PARAMETER_INDEX));
    return false;
}

bool selection_read(const struct query_params *query,
                    struct selection *selection, struct input_error *error)
{
    selection->has_index = query_params_has(query, PARAMETER_INDEX);
    if (selection->has_index && query->raw[PARAMETER_INDEX].size == 0)
        return no_name(error);
    return read_key(query, PARAMETER_PREFIX, &selection->has_prefix,
                    &selection->prefix, error) &&
           read_key(query, PARAMETER_START, &selection->has_start,
                    &selection->start, error) &&
           read_key(query, PARAMETER_END, &selection->has_end, &selection->end,
                    error) &&
           (!selection->has_index ||
            query_params_text(query, PARAMETER_INDEX, &selection->index,
                              error)) &&
           query_params_flag(query, PARAMETER_REVERSE, &selection->reverse,
                             error);
}

/* A missing index is not an error here; the scan reports it. */
/* ---- In a document ------------------------------------------------------ */

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
    if (!document_text(value, &selection->index, error))
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
    return document_flag(value, &selection->reverse, error);
}

/* ---- The range ---------------------------------------------------------- */

static bool fold_key(struct selection *selection, struct kx_reader *reader,
                     struct kx_buffer *key)
{
    struct kx_buffer folded;
    kx_buffer_init(&folded, key->owner);
    enum kx_status status =
        kx_index_fold(reader, kx_buffer_slice(&selection->index),
                      kx_buffer_slice(key), &folded);
    if (status == KX_OK)
        *key = folded;
    return status != KX_NO_MEMORY;
}

/* Folds only by an index that the caller may list by: otherwise errors about
 * the folded key would show whether a hidden index exists. */
bool selection_fold(struct selection *selection, const struct request *request,
                    struct input_error *error)
{
    struct kx_reader *reader = request->reader;
    if (!selection->has_index ||
        !access_sees_index(request, SCOPE_LIST,
                           kx_buffer_slice(&selection->index)))
        return true;
    kx_read_begin(reader);
    bool done = fold_key(selection, reader, &selection->prefix) &&
                fold_key(selection, reader, &selection->start) &&
                fold_key(selection, reader, &selection->end);
    kx_read_end(reader);
    return done || input_error_no_memory(error);
}

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_PARAMETER, "%s", detail);
}

/* Deno's rules for combinations. Within an index one bound is sufficient,
 * because the index's name is a prefix already. */
static bool combination(const struct selection *selection,
                        struct input_error *error)
{
    bool both = selection->has_start && selection->has_end;
    bool one = selection->has_start != selection->has_end;
    if (selection->has_prefix && both)
        return bad(
            error,
            "prefix can be combined with start or with end, not with both.");
    if (one && !selection->has_prefix && !selection->has_index)
        return bad(error,
                   "Without a prefix, start and end must be given together.");
    return true;
}

/* A bound must be a longer key that begins with the prefix's parts. */
static bool within(struct kx_slice bound, struct kx_slice prefix,
                   const char *name, struct input_error *error)
{
    if (bound.size > KX_KEY_MAX)
        return input_error_set(error, PROBLEM_KEY_TOO_LONG,
                               "%s has %zu encoded bytes; the limit is %d.",
                               name, bound.size, KX_KEY_MAX);
    /* After the prefix's parts, ff is not the tag of a part: it belongs to an
     * escaped zero, so that the bound is another string. */
    if (prefix.size == 0 ||
        (kx_starts_with(bound, prefix) && bound.size > prefix.size &&
         bound.data[prefix.size] != 0xff))
        return true;
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "%s does not lie within the prefix: it must begin with the "
                    "prefix's parts and have more of them.",
                    name);
    error->parameter = kx_text(name);
    return false;
}

/* Makes the prefix with one more byte, in memory. False if memory ran out. */
static bool extend(struct kx_slice prefix, uint8_t byte, const void *memory,
                   struct kx_slice *out)
{
    uint8_t *bytes = talloc_array(memory, uint8_t, prefix.size + 1);
    if (bytes == NULL)
        return false;
    if (prefix.size > 0)
        memcpy(bytes, prefix.data, prefix.size);
    bytes[prefix.size] = byte;
    *out = kx_slice(bytes, prefix.size + 1);
    return true;
}

/* Makes the lower bound: before the first key longer than the prefix or, within
 * an index, the prefix itself. */
static bool first_bound(const struct selection *selection,
                        struct kx_slice prefix, const void *memory,
                        struct kx_slice *out)
{
    *out = selection->has_start ? kx_buffer_slice(&selection->start) : prefix;
    return selection->has_start || selection->has_index ||
           extend(prefix, 0x00, memory, out);
}

/* Makes the upper bound: after the last key longer than the prefix. Within an
 * index without a prefix there is no bound. */
static bool last_bound(const struct selection *selection,
                       struct kx_slice prefix, const void *memory,
                       struct kx_slice *out)
{
    bool open = selection->has_index && prefix.size == 0;
    *out = selection->has_end ? kx_buffer_slice(&selection->end) : prefix;
    return selection->has_end || open || extend(prefix, 0xff, memory, out);
}

/* Refuses an end without parts: it would select nothing, but for the store an
 * empty end is no end. */
static bool end_fits(const struct selection *selection,
                     struct input_error *error)
{
    if (!selection->has_end || selection->end.size > 0)
        return true;
    bad(error, "end is a key without parts, and no key comes before it.");
    error->parameter = kx_text("end");
    return false;
}

/* True if start and end lie within the prefix. */
static bool keys_fit(const struct selection *selection, struct kx_slice prefix,
                     struct input_error *error)
{
    return within(prefix, kx_slice(NULL, 0), "prefix", error) &&
           (!selection->has_start || within(kx_buffer_slice(&selection->start),
                                            prefix, "start", error)) &&
           (!selection->has_end ||
            within(kx_buffer_slice(&selection->end), prefix, "end", error));
}

bool selector_make(struct selection *selection, const void *memory,
                   struct selector *selector_out, struct input_error *error)
{
    struct kx_slice prefix = kx_buffer_slice(&selection->prefix);
    struct kx_range *range = &selector_out->range;
    *selector_out = (struct selector){.indexed = selection->has_index};
    selector_out->index = kx_buffer_slice(&selection->index);
    if (!combination(selection, error) || !end_fits(selection, error) ||
        !keys_fit(selection, prefix, error))
        return false;
    if (!first_bound(selection, prefix, memory, &range->start) ||
        !last_bound(selection, prefix, memory, &range->end))
        return input_error_no_memory(error);
    range->reverse = selection->reverse;
    if (selection->has_end && kx_compare(range->start, range->end) > 0)
        return bad(error, "start comes after end; reverse does not swap them.");
    return true;
}

bool selector_allowed(struct request *request, struct reply *reply,
                      enum scope scope, const struct selector *selector)
{
    if (selector->indexed)
        return access_index(request, reply, scope, selector->index);
    return access_range(request, reply, scope, &selector->range);
}

bool selector_visible(const struct request *request, enum scope scope,
                      const struct selector *selector)
{
    if (selector->indexed)
        return access_sees_index(request, scope, selector->index);
    return access_spans(request, scope, &selector->range);
}

/* The core does not return the entry at the position again, in either
 * direction. */
bool selector_resume(struct selector *selector, struct kx_slice position,
                     struct kx_buffer *bound)
{
    struct kx_range *range = &selector->range;
    bool open = selector->indexed && range->end.size == 0;
    if (position.size == 0 || kx_compare(position, range->start) < 0 ||
        (!open && kx_compare(position, range->end) >= 0))
        return false;
    bound->size = 0;
    kx_add_slice(bound, position);
    range->after = kx_buffer_slice(bound);
    return !bound->failed;
}

static bool not_within(const struct kx_buffer *bound, struct input_error *error)
{
    return bound->failed
               ? input_error_no_memory(error)
               : input_error_set(error, PROBLEM_CURSOR_INVALID,
                                 "The cursor is not within the list.");
}

bool selector_continue(struct selector *selector, struct kx_slice cursor,
                       uint64_t list, struct kx_buffer *bound,
                       struct input_error *error)
{
    struct kx_buffer position;
    kx_buffer_init(&position, bound->owner);
    bool done = cursor_read(cursor, list, &position, error) &&
                (selector_resume(selector, kx_buffer_slice(&position), bound) ||
                 not_within(bound, error));
    kx_buffer_free(&position);
    if (!done)
        error->parameter = kx_text(query_params_name(PARAMETER_CURSOR));
    return done;
}

enum kx_status selector_scan(const struct selector *selector,
                             struct kx_reader *reader, struct kx_fault *fault)
{
    if (selector->indexed)
        return kx_scan_index(reader, selector->index, &selector->range, fault);
    return kx_scan(reader, &selector->range, fault);
}
