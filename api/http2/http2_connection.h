/* The bucket of idle frames of a connection. */
#ifndef API_HTTP2_CONNECTION_H
#define API_HTTP2_CONNECTION_H

#include "http2/http2_state.h"

/* Counts an idle frame; false when it exceeds the limit. */
bool http2_flood_spend(struct http2_flood *flood, uint64_t now_ns);
/* Counts a sent part of a reply, which the client may answer with a frame. */
void http2_flood_earn(struct http2_flood *flood);

#endif
