/* A bucket of frames that is refilled as time passes. The clock is only read
 * when the bucket is empty; a well-behaved client never empties it. */
#include "http2/http2_flood.h"

#include "kindex.h"

void http2_flood_init(struct http2_flood *calm, uint64_t now_ns)
{
    *calm = (struct http2_flood){.left = CALM_BURST, .since_ns = now_ns};
}

/* Frames beyond CALM_BURST are lost, and with them the time they stand for. */
static void refill(struct http2_flood *calm, uint64_t now_ns)
{
    uint64_t frames =
        (now_ns - calm->since_ns) / (KX_SECOND_NS / CALM_PER_SECOND);
    calm->since_ns += frames * (KX_SECOND_NS / CALM_PER_SECOND);
    calm->left += frames < CALM_BURST ? (uint32_t)frames : CALM_BURST;
}

bool http2_flood_spend(struct http2_flood *calm, uint64_t now_ns)
{
    if (calm->left == 0)
        refill(calm, now_ns);
    if (calm->left == 0)
        return false;
    calm->left--;
    return true;
}

void http2_flood_earn(struct http2_flood *calm)
{
    if (calm->left < CALM_BURST)
        calm->left += CALM_EARNED;
}
