/* Selects entries of the store or of one index: by a prefix, by start and end,
 * by a prefix with one of them, or all. A selection is what the client wrote in
 * a query or document; a selector is the range of encoded keys made from it,
 * which the store scans. start is inclusive and end exclusive, in either
 * direction. */
#ifndef API_SELECTOR_H
#define API_SELECTOR_H

#include "rest/document.h"
#include "rest/query_params.h"

/* Keys are encoded. */
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
    struct kx_range range; /* relative to the index, if `indexed` */
};

/* Makes an empty selection, which selects everything. Its buffers are allocated
 * in memory. */
void selection_init(struct selection *selection, const void *memory);

/* Reads prefix, start, end, index and reverse from a query, if given. Returns
 * false with the error of the parameter. */
bool selection_read(const struct query_params *query,
                    struct selection *selection, struct input_error *error);

/* The members that ranges of documents share. They fill the selection, which is
 * initialized; their target begins with this struct. The errors are
 * PROBLEM_BAD_REQUEST and those of key_text_from_json. */
struct range_target {
    struct selection *selection;
};
member_fn range_member_prefix;
member_fn range_member_start;
member_fn range_member_end;
member_fn range_member_index;
member_fn range_member_reverse;

/* Folds text in the keys as the selection's index does, if the index exists and
 * the caller may list by it. Begins and ends its own view. Returns false if
 * memory ran out. */
bool selection_fold(struct selection *selection, const struct request *request,
                    struct input_error *error);

/* Makes the range. A prefix covers the keys that begin with its parts and have
 * more; start and end must lie within it. Keys of an index are relative to its
 * name; there a prefix also covers the key that equals it, and start or end may
 * be given alone. The slices point into the selection and into memory. Returns
 * false with PROBLEM_BAD_PARAMETER or PROBLEM_KEY_TOO_LONG. */
bool selector_make(struct selection *selection, const void *memory,
                   struct selector *selector_out, struct input_error *error);

/* Returns true if the caller has this right on all that the selector selects.
 * Otherwise the reply is complete (403). Must not be called inside a view. */
bool selector_allowed(struct request *request, struct reply *reply,
                      enum scope scope, const struct selector *selector);
/* The same check without a reply, before each chunk of a stream. */
bool selector_visible(const struct request *request, enum scope scope,
                      const struct selector *selector);

/* Narrows the range to what follows `position` in scan order. The position is
 * copied to `bound`, replacing its content. Returns false if the position is
 * outside the range, or memory ran out (bound->failed). */
bool selector_resume(struct selector *selector, struct kx_slice position,
                     struct kx_buffer *bound);

/* Narrows the range to what follows the cursor, like selector_resume. `list` is
 * the cursor's list (cursor.h). Returns false with PROBLEM_CURSOR_INVALID or
 * PROBLEM_CURSOR_MISMATCH, or if memory ran out. */
bool selector_continue(struct selector *selector, struct kx_slice cursor,
                       uint64_t list, struct kx_buffer *bound,
                       struct input_error *error);

/* Begins the scan, inside a view. The caller ends it with kx_scan_end. KX_OK,
 * KX_FAILED, KX_INDEX_ABSENT, KX_INDEX_NOT_READY. */
enum kx_status selector_scan(const struct selector *selector,
                             struct kx_reader *reader, struct kx_fault *fault);

#endif
