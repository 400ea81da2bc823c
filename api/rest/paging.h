/* Pages of other things than entries: groups of conflicts, access tokens.
 * (page.h has pages of entries.) */
#ifndef API_PAGING_H
#define API_PAGING_H

#include "rest/cursor.h"
#include "http/request.h"

struct paging {
    size_t limit;           /* the caller's own, if the request has none */
    uint64_t list;          /* of its cursors (cursor.h), set by the caller */
    struct kx_buffer after; /* end of the last page, then of this one */
};

/* Reads `limit` and `cursor`; other parameters are refused. False with the
 * error, also when memory ran out. */
bool paging_read(struct request *request, struct paging *paging,
                 struct input_error *flaw);

#endif
