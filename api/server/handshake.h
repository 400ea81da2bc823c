/* The connections of one loop whose TLS handshake has not ended. Each has a
 * limited time for it, which no progress extends. All functions belong to the
 * loop's thread. */
#ifndef API_HANDSHAKE_H
#define API_HANDSHAKE_H

#include "net/connection.h"

struct handshakes;

typedef void lead_fn(void *owner, struct connection *connection);

/* Sockets are watched in epoll_fd; `lead` gets each connection whose handshake
 * has ended, and owns it. NULL when memory ran out. */
struct handshakes *handshakes_open(struct service *service, int epoll_fd,
                                   lead_fn *lead, void *owner);
/* Closes the connections and frees it. NULL is allowed. */
void handshakes_close(struct handshakes *handshakes);

/* Takes over a connection whose TLS has not begun; `lead` may be called at
 * once. */
void handshakes_add(struct handshakes *handshakes,
                    const struct connection *connection);

/* When handshakes_expire has something to do (kx_monotonic_ns); 0: never. */
uint64_t handshakes_deadline(const struct handshakes *handshakes);
/* Closes the connections whose handshake has taken too long.
 * now_ns: kx_monotonic_ns. */
void handshakes_expire(struct handshakes *handshakes, uint64_t now_ns);

#endif
