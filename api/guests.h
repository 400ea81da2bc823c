/* How many connections each address has: no single one may take all that the
 * server has to give. Addresses of IPv6 count by their first 64 bits, which is
 * what one customer gets. Any thread. */
#ifndef API_GUESTS_H
#define API_GUESTS_H

#include <stdint.h>
#include <sys/socket.h>

struct guest;
struct guests;

/* For at most `share` connections of one address; NULL when memory ran out. */
struct guests *guests_open(uint64_t share);
/* Frees it; nobody is there any more. NULL is allowed. */
void guests_close(struct guests *guests);

/* Counts a connection; NULL when its address has its share, or memory ran
 * out. */
struct guest *guests_enter(struct guests *guests,
                           const struct sockaddr_storage *peer);
/* A connection of the guest is over; it is not used again. NULL is allowed. */
void guests_leave(struct guests *guests, struct guest *guest);

#endif
