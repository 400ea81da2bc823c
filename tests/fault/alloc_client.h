/* A client that allocates nothing from the service's point of view: one request
 * on a separate connection, over HTTP/1.1 or HTTP/2. */
#ifndef ALLOC_CLIENT_H
#define ALLOC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call {
    const char *method;
    const char *target;
    const char *type; /* Content-Type, or NULL */
    const char *body; /* or NULL */
    size_t body_size; /* 0: up to its NUL */
};

struct answer {
    int status; /* 0: the connection ended without one */
    bool late;  /* nothing came for a long time */
    size_t size;
    char body[1 << 16];
};

/* All calls have this access token from now on. */
void client_use_token(const char *text);

/* Sends the call to 127.0.0.1:port and waits for all of the answer, or for the
 * first bytes of an event stream. */
void client_call(uint16_t port, bool http2, const struct call *call,
                 struct answer *answer_out);

#endif
