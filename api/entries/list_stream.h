/* A list of any length: entries as NDJSON, made while they are sent. The memory
 * it takes is that of one slice, and commits never wait longer than for one; in
 * return it is no single view: an entry that is written meanwhile is shown as
 * it is when the stream gets to its key. The last line tells a complete list
 * from one that was cut off. */
#ifndef API_LIST_STREAM_H
#define API_LIST_STREAM_H

#include "entries/page.h"

/* A stream of the page's entries, one line each, up to its limit, then
 * {"end":true,"count":n}, or {"error":{...}} when it breaks off. Each slice is
 * a view of its own. Lives in the request's memory, of which it does not take
 * more the longer it is; NULL when that ran out. */
struct stream *list_stream_open(struct request *request,
                                const struct page *page);

#endif
