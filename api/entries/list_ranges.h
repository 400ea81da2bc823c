/* Lists of several ranges: `in` of GET /list, and the document of POST /list.
 * The range of each is made as that of a list with one (selector.h). */
#ifndef API_LIST_RANGES_H
#define API_LIST_RANGES_H

#include "entries/page.h"

/* What the client gave. */
struct list_ranges {
    struct selection *selections;
    size_t count;
    bool merge;
    struct kx_buffer cursor;
};

/* Makes a page of the ranges that `in` gives: the selection with the values
 * after its prefix. Its shape, conditions and share were read. False with
 * PROBLEM_BAD_PARAMETER, or as page_begin. Not inside a view. */
bool list_ranges_in(const struct query_params *query,
                    const struct selection *selection, struct page *page,
                    const struct request *request, struct input_error *error);

/* Reads a document, {"ranges":[{"prefix":[...],"index":"..."},...],"order":
 * "merge","limit":10}, which kx_json_check accepted, and the shape and limit of
 * the page. In the request's memory. False with an error whose pointer leads to
 * the place in the document. */
bool list_ranges_read(struct kx_slice document, struct list_ranges *list_out,
                      struct page *page, const struct request *request,
                      struct input_error *error);
/* Then makes the page. The request's reader holds a view, and none is open.
 * False with such an error. */
bool list_ranges_select(struct list_ranges *list, struct page *page,
                        const struct request *request,
                        struct input_error *error);

#endif
