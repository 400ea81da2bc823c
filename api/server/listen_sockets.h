/* The sockets that the server listens on: one for each address and event loop.
 * All functions belong to the main thread, except socket_set_close. */
#ifndef API_LISTEN_SOCKETS_H
#define API_LISTEN_SOCKETS_H

#include "config/address.h"

enum { LOOPS_MAX = 64 };

/* The sockets of one loop; zeroed, the set is empty. */
struct socket_set {
    int fds[ADDRESSES_MAX];
    size_t count;
};

/* Zeroed, it has no sockets. */
struct listen_sockets {
    struct addresses bound; /* the addresses in use, with their actual ports;
                             * wanted addresses that the machine does not have
                             * are left out */
    struct socket_set sets[LOOPS_MAX];
};

/* Binds and listens, for this number of loops. An address with port 0 takes a
 * free one, the same for all of them. False with errno: where_out, with room
 * for ADDRESS_TEXT_MAX bytes, is the address that could not be bound. */
bool listen_sockets_open(struct listen_sockets *sockets,
                         const struct addresses *wanted, size_t loops,
                         char *where_out);

/* Closes the sockets that listen_sockets_take has not given away. */
void listen_sockets_close(struct listen_sockets *sockets);

/* Returns the sockets of one loop; the caller owns them and closes them with
 * socket_set_close. */
struct socket_set listen_sockets_take(struct listen_sockets *sockets,
                                      size_t loop);

/* Closes the sockets of a set. Any thread. */
void socket_set_close(const struct socket_set *set);

#endif
