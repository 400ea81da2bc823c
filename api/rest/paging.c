/* The same two parameters, wherever there are pages that are no lists of
 * entries. */
#include "rest/paging.h"

#include "rest/query.h"

bool paging_read(struct request *request, struct paging *paging,
                 struct flaw *flaw)
{
    struct query query;
    struct kx_buffer cursor;
    kx_buffer_init(&cursor, request->memory);
    kx_buffer_init(&paging->after, request->memory);
    if (!query_read(request->query, TAKES_LIMIT | TAKES_CURSOR, request->memory,
                    &query, flaw) ||
        !query_limit(&query, &paging->limit, flaw))
        return false;
    if (!query_has(&query, PARAMETER_CURSOR))
        return true;
    bool done = query_text(&query, PARAMETER_CURSOR, &cursor, flaw) &&
                cursor_read(kx_buffer_slice(&cursor), paging->list,
                            &paging->after, flaw);
    if (!done)
        flaw->parameter = kx_text(query_name(PARAMETER_CURSOR));
    return done;
}
