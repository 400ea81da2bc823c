/* The document of POST /get as keys and pages: what get_many.c reads in one
 * view. All of it is checked before the view begins, the number of entries that
 * may come included. */
#ifndef API_GET_MANY_READ_H
#define API_GET_MANY_READ_H

#include "entries/page.h"

struct get_many_read {
    const struct request *request; /* that brought the document */
    void *memory;                  /* talloc context of all that is made */
    struct kx_slice *keys;
    size_t key_count;
    struct shape shape; /* of the entries of keys */
    struct page *pages;
    size_t page_count;
    size_t total; /* entries that may come: keys and limits of ranges */
};

/* Reads the document, which kx_json_check accepted. targets_out->request and
 * memory are set by the caller; no view is open. False with an error whose
 * pointer leads to the place in the document; PROBLEM_BAD_REQUEST when more
 * than KX_PAGE_MAX entries are asked for. */
bool get_many_read(struct kx_slice document, struct get_many_read *targets_out,
                   struct input_error *error);

#endif
