/* KV Connect in tests: requests to it, as a door begins them. */
#ifndef KVCONNECT_CALL_H
#define KVCONNECT_CALL_H

#include "exchange/exchange.h"
#include "store.h"

/* What a request has from now on, or NULL: database id, version, host. */
extern const char *call_headers[3];

struct answer {
    int status;
    const char *content_type;
    struct kx_slice body;
};

/* Setup and teardown: a story whose store answers the requests. */
int begin_calls(void **state);
int finish_calls(void **state);

/* POSTs a body to one of the paths of KV Connect: until the exchange has its
 * reply, or waits for its turn. */
struct exchange *post_until_turn(struct story *story, const char *path,
                                 struct kx_slice body);
/* Lets it work until then again. */
void continue_post(struct exchange *exchange);

/* POSTs a body as an event loop would; the answer lies in the story's
 * memory. */
struct answer post(struct story *story, const char *path, struct kx_slice body);

/* The body of an answer. */
const char *text_of(struct story *story, struct answer answer);

/* The bytes that the hexadecimal digits are. */
struct kx_slice bytes_of(void *mem, const char *hex);

/* Without the spaces that make a row readable. */
const char *compact(void *mem, const char *spaced);

#endif
