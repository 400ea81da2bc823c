/* The limit on a connection's idle frames: a token bucket. */
#ifndef API_HTTP2_CONNECTION_H
#define API_HTTP2_CONNECTION_H

#include "http2/http2_state.h"

/* Counts an idle frame. False if it exceeds the limit. */
bool http2_flood_spend(struct http2_flood *flood, uint64_t now_ns);
/* Counts a part of a reply that was sent, which the client may answer with an
 * idle frame. */
void http2_flood_earn(struct http2_flood *flood);

#endif
