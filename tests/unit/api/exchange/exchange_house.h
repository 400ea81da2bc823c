/* A service without sockets, in tests: a store, one run queue and its
 * workers, and exchanges that the test begins in the place of a protocol side
 * and continues in that of an event loop. */
#ifndef TESTS_EXCHANGE_HOUSE_H
#define TESTS_EXCHANGE_HOUSE_H

#include "store.h"

#include "config/options.h"
#include "exchange/exchange.h"

struct house {
    struct test_store test;
    void *mem;
    struct options options;
    struct service service;
    struct run_queue queue;
    const char *accept; /* the request's headers, or NULL */
    const char *prefer;
    const char *idempotency_key;
    const char *if_none_match;
    const char *authorization;
    const char *hop;
    struct tenant *client; /* whose requests they are, or NULL */
    unsigned ready;        /* exchanges that were continued to their reply */
};

extern struct house *house; /* of the present test */

/* Set before begin_house: that many workers that read (0: none), whether they
 * are in front of a database, and what more is stored before the store is
 * opened again. finish_house sets them back. */
extern size_t house_read_workers;
extern bool house_shared;
extern void (*house_fill)(struct test_store *test);

/* Setups and teardown. The store has the entries ["a"], 1 and ["b"], 2; after
 * begin_beside two workers read its rows instead of the loop. */
int begin_house(void **state);
int begin_beside(void **state);
int finish_house(void **state);

/* A request with a body of no media type; it has arrived and is not run. */
struct exchange *begin_request(enum method method, const char *target,
                               struct kx_slice body);

/* Runs a request with a body of no media type, to the reply or until it parks,
 * as `next` says; get sends a GET. */
struct exchange *start(enum method method, const char *target,
                       struct kx_slice body, enum exchange_next next);
struct exchange *get(const char *target, enum exchange_next next);

/* The grants of a token that may do all. */
#define ALL_RIGHTS                                                             \
    "[{\"prefix\":[],\"scopes\":[\"read\",\"list\",\"watch\",\"write\","       \
    "\"index\",\"admin\",\"monitor\"]}]"

/* Makes a token with these grants (JSON), which later requests have. */
void use_token(const char *grants);

/* Checks the whole reply, which contains the text, and ends the exchange. */
void assert_reply(struct exchange *exchange, int status, const char *text);

/* Lets the queue work until so many exchanges are ready. */
void wait_for_ready(unsigned ready);

#endif
