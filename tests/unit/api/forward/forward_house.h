/* A node that is not active, without sockets for clients, and the active one: a
 * server of this process, or a peer that breaks off. */
#ifndef TESTS_FORWARD_HOUSE_H
#define TESTS_FORWARD_HOUSE_H

#include "../exchange/exchange_house.h"

#include "forward/forward_pool.h"
#include "http/role.h"

struct forward_house {
    struct forward *forward;
    int epoll_fd;
    struct test_store store; /* of the active node */
    struct options options;
    struct service service;
    struct loop *loop;
    struct kx_holder holder;  /* what the node knows of it */
    struct kx_reader *reader; /* of the node, which as a standby has none */
};

extern struct forward_house *nodes; /* of the present test */

/* Setup and teardown. The active node's store is empty. */
int begin_nodes(void **state);
int finish_nodes(void **state);

/* What the node knows of the active one; NULL: nothing. */
void know(const char *url);

/* Ends the active node, which must have answered all. */
void stop_active(void);

/* Lets the node work until so many exchanges are ready. */
void wait_for_answers(unsigned ready);
/* Lets it do what can be done without waiting. */
void work(void);

/* Sends a request that the active node answers, and waits for that. */
struct exchange *ask(enum method method, const char *target,
                     struct kx_slice body);

/* What the present client would get of a stream until its end, in mem. */
struct kx_slice read_all(struct exchange *exchange);

/* A peer that takes connections on another port until `unanswered`
 * requests have come that it answers by closing. The first `answered` ones of a
 * connection get a 204 before. */
struct rude_peer {
    pthread_t thread;
    int fd;
    atomic_int connection; /* -1: none */
    unsigned answered;
    unsigned unanswered;
    unsigned seen; /* requests, once it is joined */
};

/* Starts it; it is what is known as the active node. */
void rude_peer_start(struct rude_peer *peer);
/* Stops and joins it. */
void rude_peer_join(struct rude_peer *peer);

#endif
