/* A bucket of frames that is refilled as time passes. The clock is only read
 * when the bucket is empty; a well-behaved client never empties it. */
#include "http2/http2_flood.h"

#include "kindex.h"

void http2_flood_init(struct http2_flood *flood, uint64_t now_ns)
{
    *flood = (struct http2_flood){.left = FLOOD_BURST, .since_ns = now_ns};
}

/* Frames beyond FLOOD_BURST are lost, and with them the time they stand for. */
static void refill(struct http2_flood *flood, uint64_t now_ns)
{
    uint64_t frames =
        (now_ns - flood->since_ns) / (KX_SECOND_NS / FLOOD_PER_SECOND);
    flood->since_ns += frames * (KX_SECOND_NS / FLOOD_PER_SECOND);
    flood->left += frames < FLOOD_BURST ? (uint32_t)frames : FLOOD_BURST;
}

bool http2_flood_spend(struct http2_flood *flood, uint64_t now_ns)
{
    if (flood->left == 0)
        refill(flood, now_ns);
    if (flood->left == 0)
        return false;
    flood->left--;
    return true;
}

void http2_flood_earn(struct http2_flood *flood)
{
    if (flood->left < FLOOD_BURST)
        flood->left += FLOOD_EARNED;
}
