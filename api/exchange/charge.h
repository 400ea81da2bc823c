/* Limits how much of the shared resources one client can take. A client is an
 * address with its connections, or an access token with its requests from any
 * address: a request counts for its address until its token is known, then for
 * the token. IPv6 addresses count by their first 64 bits, the usual allocation
 * of one customer.
 *
 * - Connections: --connections-per-address, then 503.
 *
 * - Requests in flight: half of --requests-max, then 503 or wait.
 *
 * - Memory of bodies and replies: half of --bodies-max, then 503.
 *
 * - Streams of a token: --token-streams, then 429.
 *
 * - Time of a loop: equal turns (turns.h).
 *
 * - Time of the writer: equal turns (kx_client).
 *
 * When a limit on requests or memory is reached, the exchange that has stalled
 * for longest while it waits for its client is ended in favour of the exchange
 * that needs a place. */
#ifndef API_CHARGE_H
#define API_CHARGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "exchange/exchange.h"
#include "exchange/turns.h"
#include "kindex.h"

struct tenants;

/* ---- Clients: any thread ------------------------------------------------- */

/* One client. Connections and requests hold references to it; the last one
 * frees it. */
struct tenant {
    LIST_ENTRY(tenant) chain;
    uint64_t name; /* the address, or the token's id */
    bool by_token;
    uint64_t connections;
    atomic_uint_fast64_t references;
    atomic_uint_fast64_t requests;   /* begun and not ended */
    atomic_uint_fast64_t bytes;      /* of their bodies and replies */
    atomic_uint_fast64_t streams;    /* that are sent now; of a token only */
    atomic_uint_fast64_t in_vain_ns; /* the last time that no exchange could be
                                      * ended for it */
    struct kx_client commits;        /* its turns of the writer */
    struct client_turns turns[];     /* at each loop, which alone uses it */
};

/* Allows at most `share` connections of one address, in a server with this
 * number of event loops. NULL when memory ran out. */
struct tenants *tenants_open(uint64_t share, size_t loops);
/* Frees the table, which no connection or request uses any longer. NULL is
 * allowed. */
void tenants_close(struct tenants *tenants);

/* Counts a connection and returns the client of its address. NULL when the
 * address has all its connections already, or memory ran out. */
struct tenant *tenant_connect(struct tenants *tenants,
                              const struct sockaddr_storage *peer);
/* A connection of the client has ended: drops its reference. NULL is
 * allowed. */
void tenant_disconnect(struct tenants *tenants, struct tenant *client);

/* ---- Exchanges: only on the thread of their event loop ------------------- */

/* Counts the exchange, for this client if client is not NULL. */
void charge_begin(struct exchange *exchange, struct tenant *client);
/* The token of the request is known: from here on the exchange counts for the
 * token and no longer for the address. */
void charge_to_token(struct exchange *exchange);
/* Counts a reply that is a stream, or makes it a problem (429) if the client is
 * a token that has too many streams. */
void charge_stream(struct exchange *exchange);
/* Takes the exchange out of all counts; a second call does nothing. */
void charge_end(struct exchange *exchange);

/* True if service and client are within their limits on requests. With `many`
 * the client may use only half of its limit. May end other exchanges that have
 * stalled. */
bool charge_has_place(struct exchange *exchange, bool many);
/* True if there is memory for the exchange: the bodies of all exchanges, not
 * counting `own` bytes, take at most --bodies-max, and the bodies of its
 * client's other exchanges at most half of that. May end other exchanges that
 * have stalled. */
bool charge_has_memory(struct exchange *exchange, uint64_t own);
/* Checks the limits on memory like charge_has_memory, but ends no other
 * exchange. */
bool charge_fits_memory(const struct exchange *exchange, uint64_t own);

/* From now on the exchange waits for its client: for the remainder of its body,
 * or until the reply was taken. It may be ended while too few bytes move. */
void charge_await_client(struct exchange *exchange);
/* The exchange no longer waits for its client. */
void charge_leave_client(struct exchange *exchange);

/* Called once in each turn of a loop: ends stalled exchanges of this run queue
 * when exchanges of other loops need the resources that they hold. */
void charge_end_stalled(struct run_queue *queue);
/* Milliseconds after which charge_end_stalled must be called at the latest;
 * -1: never. */
int charge_timeout_ms(const struct run_queue *queue);

/* ---- What one exchange takes -------------------------------------------- */

/* Updates the counts of memory with what the exchange takes now: its bodies,
 * decoded values and, while its handler runs, the handler's stack. Called
 * before the exchange waits, so that all that waits is counted. */
void charge_memory(struct exchange *exchange);
/* True if the reply must be refused for lack of memory. */
bool charge_refuses_reply(struct exchange *exchange);
/* Counts the memory of the values decoded from the body. False for a large body
 * if the bodies exceed the memory limit even without these values. */
bool charge_allows_commit(struct exchange *exchange);
/* Drops the bodies and the memory of this exchange, whose handler has ended,
 * and makes its reply a problem, because the bodies of all clients, or the
 * bodies of this client, have reached their limit. */
void charge_refuse(struct exchange *exchange);
/* Empties a buffer for reuse. A large buffer is freed, because otherwise an
 * exchange would keep the memory of its largest request for ever. */
void exchange_empty_buffer(struct kx_buffer *buffer);
/* Gives back the unused memory of a buffer that has its final size, if it is
 * much. */
void exchange_trim_buffer(struct kx_buffer *buffer);

#endif
