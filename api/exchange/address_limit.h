/* Counts what each client takes of the resources that all clients share, so
 * that a single one cannot take everything. A client is an address with its
 * connections, or an access token with its requests from any address. IPv6
 * addresses count by their first 64 bits, the usual allocation of one customer.
 * Any thread. */
#ifndef API_ADDRESS_LIMIT_H
#define API_ADDRESS_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "exchange/turns.h"
#include "kindex.h"

struct address_limit;

/* One client. Connections and requests hold references to it; the last one
 * frees it. exchange_share.c counts requests and bytes. */
struct client_usage {
    LIST_ENTRY(client_usage) chain;
    uint64_t name; /* the address, or the token's id */
    bool by_token;
    uint64_t connections;
    atomic_uint_fast64_t references;
    atomic_uint_fast64_t requests;   /* begun and not ended */
    atomic_uint_fast64_t bytes;      /* of their bodies and replies */
    atomic_uint_fast64_t in_vain_ns; /* the last time that no exchange could be
                                      * ended for it */
    struct kx_client commits;        /* its turns of the writer */
    struct client_turns turns[];     /* at each loop, which alone uses it */
};

/* Allows at most `share` connections of one address, in a server with so many
 * event loops. NULL when memory ran out. */
struct address_limit *address_limit_open(uint64_t share, size_t loops);
/* Frees the table, which no connection or request uses any longer. NULL is
 * allowed. */
void address_limit_close(struct address_limit *limit);

/* Counts a connection and returns the client of its address. NULL when the
 * address has all its connections already, or memory ran out. */
struct client_usage *address_limit_enter(struct address_limit *limit,
                                         const struct sockaddr_storage *peer);
/* A connection of the client has ended: drops its reference. NULL is
 * allowed. */
void address_limit_leave(struct address_limit *limit,
                         struct client_usage *client);

/* Returns the client of a token, by the token's id in hexadecimal digits. The
 * reference is dropped by address_limit_release. NULL when memory ran out. */
struct client_usage *address_limit_with_token(struct address_limit *limit,
                                              const char *id);
/* Adds a reference to a client that already has one. It is dropped by
 * address_limit_release. */
void address_limit_keep(struct client_usage *client);
/* Drops a reference; the last one frees the client. */
void address_limit_release(struct address_limit *limit,
                           struct client_usage *client);

#endif
