/* Pages of what are no entries: groups of conflicts, access tokens. (Those of
 * entries: page.h.)
 */
#ifndef API_PAGING_H
#define API_PAGING_H

#include "rest/cursor.h"
#include "http/request.h"

struct paging {
    size_t limit;           /* the caller's own, if the request has none */
    uint64_t list;          /* that its cursors belong to, set by the caller */
    struct kx_buffer after; /* position of the last page, then of this one */
};

/* Reads `limit` and `cursor`, and lets nothing else be in the query. False with
 * what is wrong, or memory used up. */
bool paging_read(struct request *request, struct paging *paging,
                 struct input_error *flaw);

#endif
