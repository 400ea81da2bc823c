/* A page of the entries that meet conditions. Others are read as well, so it is
 * made in slices, each with a separate view, and ends early when it has read
 * --scan-max entries; its cursor then continues after the last of them. */
#ifndef API_LIST_WHERE_H
#define API_LIST_WHERE_H

#include "entries/page.h"
#include "http/request.h"

/* Reads the parameter where: conditions as a JSON object, or an array of them.
 * page->where, in the query's memory, and page->conditions are unchanged when
 * it is not given. */
bool list_where_read(const struct query_params *query, struct page *page,
                     struct input_error *error);

/* Adds the next slice of a page with `where` to the reply, in one view. Returns
 * whether more slices follow; otherwise the reply is complete.
 * The caller has checked the rights for each slice. */
bool list_where_page(struct request *request, struct reply *reply,
                     struct page *page);

/* Counts an entry and compares it. KX_OK: it is shown; KX_ABSENT: it is not;
 * KX_NO_MEMORY. */
enum kx_status list_where_test(struct page *page, const struct kx_entry *entry);

#endif
