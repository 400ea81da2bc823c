/* The four doors of KV Connect: the first byte says which, the rest is the
 * message. Bad ones are refused with a 4xx, since clients repeat after a 5xx
 * for ever; a good write can be read. */
#include "house.h"

static const char *const PATHS[] = {"/", "/v2/snapshot_read",
                                    "/v2/atomic_write", "/v2/watch"};

void fuzz(struct kx_slice input, void *memory)
{
    house_open(memory);
    struct house_request request = {
        .method = METHOD_POST,
        .target = kx_text(PATHS[fuzz_byte(&input) % 4]),
        .head = kx_text("x-denokv-version: 3\nHost: kv.test:4512\n"
                        "x-denokv-client: node\n"),
    };
    request.body = fuzz_alone(input, memory);
    int status = house_send(&request);
    assert_true(status == 0 || status == 200 ||
                (status >= 400 && status < 500));
    house_tidy(memory);
}
