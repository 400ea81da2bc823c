/* How many idle frames an HTTP/2 client may cause. Frames that bring no request
 * nearer to its reply (PING, SETTINGS, resets, unknown types, DATA that is
 * empty but for its padding ...) cost little each and are needed now and then;
 * thousands of them are an attack. */
#ifndef API_HTTP2_FLOOD_H
#define API_HTTP2_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FLOOD_BURST = 1000,     /* such frames at once */
    FLOOD_PER_SECOND = 100, /* and again after a while */
    FLOOD_EARNED = 2        /* by each frame that carries a reply */
};

/* Of one connection. Members are its own. */
struct http2_flood {
    uint32_t left;
    uint64_t since_ns;
};

void http2_flood_init(struct http2_flood *flood, uint64_t now_ns);
/* Counts an idle frame; false when it exceeds the limit. */
bool http2_flood_spend(struct http2_flood *flood, uint64_t now_ns);
/* Counts a sent part of a reply, which the client may answer with a frame. */
void http2_flood_earn(struct http2_flood *flood);

#endif
