/* Selects entries by a prefix, by start and end, by a prefix with one of them,
 * or all; of the whole store or of one index. A selection is what the client
 * wrote in a query or a JSON document; a selector is the range of encoded keys
 * that the core scans, made from it. start is inclusive and end exclusive, in
 * either direction. */
#ifndef API_SELECTOR_H
#define API_SELECTOR_H

#include "rest/query_params.h"

/* What a client gave, as encoded keys. */
struct selection {
    bool has_prefix;
    bool has_start;
    bool has_end;
    bool has_index;
    bool reverse;
    struct kx_buffer prefix;
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer index; /* its name */
};

struct selector {
    bool indexed;
    struct kx_slice index;
    struct kx_range range; /* relative to the index when there is one */
};

/* An empty selection (everything) whose buffers live in memory. */
void selection_init(struct selection *selection, const void *memory);

/* Reads prefix, start, end, index and reverse from a query, where given. False
 * with the error of query_params_key, query_params_text or
 * query_params_flag. */
bool selection_read(const struct query_params *query,
                    struct selection *selection, struct input_error *error);

/* Folds text in the keys as the index does, if there is one of that name that
 * the caller may list by, so that they compare with its entries. Begins and
 * ends its own view. False when memory ran out. */
bool selection_fold(struct selection *selection, const struct request *request,
                    struct input_error *error);

/* Makes the range. A prefix covers the keys that have more parts than it;
 * start and end must lie within it. Within an index everything is relative to
 * its name, a prefix also covers the very key, and start or end may stand
 * alone. The slices point into selection and memory. */
bool selector_make(struct selection *selection, const void *memory,
                   struct selector *selector_out, struct input_error *error);

/* May the caller do this with what the selector selects? False: reply is then
 * complete (403). Not inside a view. */
bool selector_allowed(struct request *request, struct reply *reply,
                      enum scope scope, const struct selector *selector);
/* The same without a reply, before each chunk of a stream. */
bool selector_visible(const struct request *request, enum scope scope,
                      const struct selector *selector);

/* Narrows the range to what follows `position` in scan order, which is kept in
 * `bound` (its former contents are replaced). False when the position is
 * outside of the range, or memory ran out: bound->failed. */
bool selector_resume(struct selector *selector, struct kx_slice position,
                     struct kx_buffer *bound);

/* The same after the position of a cursor of the list (cursor.h). False with
 * the error of cursor_read, PROBLEM_CURSOR_INVALID for a position outside of
 * the range, or when memory ran out. */
bool selector_continue(struct selector *selector, struct kx_slice cursor,
                       uint64_t list, struct kx_buffer *bound,
                       struct input_error *error);

/* Begins the scan, of an index or of the store: as kx_scan_index or kx_scan.
 * The caller ends it with kx_scan_end. Between kx_read_begin and
 * kx_read_end. */
enum kx_status selector_scan(const struct selector *selector,
                             struct kx_reader *reader, struct kx_fault *fault);

#endif
