/* Those that ask for something, and what each of them takes of what all share:
 * an address with its connections, or an access token with its requests,
 * wherever they come from. No single one may take all that the server has to
 * give. Addresses of IPv6 count by their first 64 bits, which is what one
 * customer gets. Any thread. */
#ifndef API_GUESTS_H
#define API_GUESTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct address_limit;

/* One of them. It is there as long as somebody refers to it: a connection, or
 * a request (exchange_share.c, which also counts what they take). */
struct guest {
    LIST_ENTRY(guest) chain;
    uint64_t name; /* the address, or the token's id */
    bool by_token;
    uint64_t connections;
    atomic_uint_fast64_t references;
    atomic_uint_fast64_t requests;   /* begun and not ended */
    atomic_uint_fast64_t bytes;      /* of their bodies and replies */
    atomic_uint_fast64_t in_vain_ns; /* when nothing gave way to it */
};

/* For at most `share` connections of one address; NULL when memory ran out. */
struct address_limit *address_limit_open(uint64_t share);
/* Frees it; nobody is there any more. NULL is allowed. */
void address_limit_close(struct address_limit *guests);

/* Counts a connection; NULL when its address has its share, or memory ran
 * out. */
struct guest *address_limit_enter(struct address_limit *guests,
                                  const struct sockaddr_storage *peer);
/* A connection of the guest is over. NULL is allowed. */
void address_limit_leave(struct address_limit *guests, struct guest *guest);

/* The guest with this token, by the token's id in hexadecimal digits. It is
 * given back by address_limit_release. NULL when memory ran out. */
struct guest *address_limit_with_token(struct address_limit *guests,
                                       const char *id);
/* Refers to a guest that somebody else refers to; address_limit_release is for
 * that, too. */
void address_limit_keep(struct guest *guest);
/* A reference less; the last one frees the guest. */
void address_limit_release(struct address_limit *guests, struct guest *guest);

#endif
