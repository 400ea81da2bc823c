/* The document of POST /get as keys and ranges: what get_many.c reads in one
 * view. It is read in two steps: the document itself without a view, and what
 * an index makes of the bounds of its ranges within one. */
#ifndef API_GET_MANY_READ_H
#define API_GET_MANY_READ_H

#include "entries/page.h"
#include "rest/member_table.h"

struct get_many_range {
    struct page page;
    struct selection selection;
    struct kx_buffer cursor;
};

struct get_many_read {
    void *memory; /* talloc context of all that is made */
    struct kx_slice *keys;
    size_t key_count;
    struct shape shape; /* of the entries of keys */
    struct get_many_range *ranges;
    size_t range_count;
    struct input_error error;    /* set unless `good` */
    bool good;                   /* the document is */
    struct entry_writer *writer; /* of the reply; NULL: not all was read */
    size_t total; /* entries that may come: keys and limits of ranges */
};

/* Reads the document, which kx_json_check accepted. targets_out->memory is set
 * by the caller. False with an error whose pointer leads to the place in the
 * document; PROBLEM_BAD_REQUEST when more than KX_PAGE_MAX entries are asked
 * for. */
bool get_many_read(struct kx_slice document, struct get_many_read *targets_out,
                   struct input_error *error);
/* Then: makes the pages of the ranges. The request's reader holds a view, and
 * none is open. False with such an error. */
bool get_many_select(struct get_many_read *targets,
                     const struct request *request, struct input_error *error);

/* ---- The members that every range of a document has ------------------------
 */

/* What the readers fill; a reader's target begins with it. The selection is
 * initialised. */
struct range_target {
    struct selection *selection;
};

/* Readers of a member_table. PROBLEM_BAD_REQUEST, or the error of
 * key_text_from_json. */
member_fn range_member_prefix;
member_fn range_member_start;
member_fn range_member_end;
member_fn range_member_index;
member_fn range_member_reverse;

#endif
