/* Reads the two parameters of pages that do not list entries. */
#include "rest/paging.h"

#include "rest/query_params.h"

bool paging_read(struct request *request, struct paging *paging,
                 struct input_error *flaw)
{
    struct query_params query;
    struct kx_buffer cursor;
    kx_buffer_init(&cursor, request->memory);
    kx_buffer_init(&paging->after, request->memory);
    if (!query_params_read(request->query, TAKES_LIMIT | TAKES_CURSOR,
                           request->memory, &query, flaw) ||
        !query_params_limit(&query, &paging->limit, flaw))
        return false;
    if (!query_params_has(&query, PARAMETER_CURSOR))
        return true;
    bool done = query_params_text(&query, PARAMETER_CURSOR, &cursor, flaw) &&
                cursor_read(kx_buffer_slice(&cursor), paging->list,
                            &paging->after, flaw);
    if (!done)
        flaw->parameter = kx_text(query_params_name(PARAMETER_CURSOR));
    return done;
}
