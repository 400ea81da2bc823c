/* A store in a fresh directory with a queue before it, as one event loop has
 * them, for targets that send whole requests. There are no sockets and no
 * loop: the target walks each exchange from its beginning to its end. After
 * each input the store is as it was before. */
#ifndef HOUSE_H
#define HOUSE_H

#include "exchange/exchange.h"
#include "fuzz.h"

struct house {
    char directory[64];
    struct options options;
    struct service service;
    struct run_queue queue;
    uint64_t stamp; /* when it was as it should be */
    _Atomic(void *) answered;
};

extern struct house house;

/* At the first input: opens it. */
void house_open(void *memory);

/* Makes the store as it was when something has changed it: drops all indexes,
 * deletes all entries, begins again. */
void house_tidy(void *memory);

/* A request as it is sent, and whether its exchange waits for nothing. */
struct house_request {
    enum method method;
    struct kx_slice target;
    struct kx_slice head; /* lines "name: value" */
    struct kx_slice body;
    bool ready;
};

/* Sends one request and checks its reply, the status of which is returned. */
int house_send(struct house_request *sent);

#endif
