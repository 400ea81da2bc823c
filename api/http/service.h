/* What all event loops of one server share. server.c makes it before the loops
 * start and frees it after they have ended. Meanwhile only counters,
 * `stopping`, `slow` and `role` change; these are atomic or have a lock. On a
 * standby (role.h) `store` is NULL until the loops have been told by `opened`.
 */
#ifndef API_SERVICE_H
#define API_SERVICE_H

#include <stdatomic.h>

#include "config/options.h"
#include "http/request.h"
#include "http/role.h"
#include "http/slow_log.h"

struct address_limit;
struct backup_tickets;
struct metrics_history;
struct tls_keyring;
struct workers;

enum { ROUTES_MAX = 64, STATUS_CLASSES = 6 };

/* What became of requests for the active node, which is another. */
enum forwarded {
    FORWARDED_ANSWERED,
    FORWARDED_UNREACHABLE, /* not sent: there is no active node, or no way to it
                            */
    FORWARDED_UNANSWERED,  /* sent, and the answer did not come */
    FORWARDED_REFUSED,     /* not sent, because too many were on their way */
    FORWARDED_RESULTS
};

/* Counters since the start; any thread adds and reads them. */
struct counters {
    /* Replies by row of the route table and by hundreds of the HTTP status,
     * with the nanoseconds that they took. The row after the last one counts
     * requests without a route. */
    struct kx_histogram replies[ROUTES_MAX + 1][STATUS_CLASSES];
    atomic_uint_fast64_t connections_accepted;
    atomic_uint_fast64_t connections_refused; /* over a limit of them */
    atomic_uint_fast64_t handshakes_failed;   /* of TLS */
    atomic_int_fast64_t connections;          /* open now */
    atomic_uint_fast64_t body_bytes;          /* of requests and replies,
                                               * with what is left to send */
    atomic_uint_fast64_t body_bytes_most;     /* since heap_tend gave back */
    atomic_uint_fast64_t in_flight;           /* requests begun, not replied */
    atomic_uint_fast64_t slow;                /* requests over --slow-ms */
    atomic_uint_fast64_t streams_refused;     /* of HTTP/2, over a limit */
    atomic_uint_fast64_t stalled;             /* requests ended for others */
    atomic_uint_fast64_t short_ns; /* when a limit was last reached */
    atomic_uint_fast64_t floods;   /* HTTP/2 connections ended as floods */
    atomic_uint_fast64_t next_request_id; /* the first one is random */
    atomic_uint_fast64_t forwarded[FORWARDED_RESULTS];
};

struct service {
    struct kx_store *store;
    struct kx_store *joined; /* that followers read (kindex/node.h), from the
                              * start on; NULL: a data directory */
    bool keyless; /* a standby that lacks the file of --token-file: it answers
                   * no reads itself, as it does not know whether a token is
                   * needed. Set before the loops start */
    const struct options *options;
    const struct route_table *routes; /* all operations (server/routes.c) */
    struct address_limit *address_limit;
    struct tls_keyring *keyring; /* NULL: no TLS */
    handler_fn *forward;         /* in place of the handler of a route, where
                                  * the active node answers; NULL: there are
                                  * no other nodes */
    struct backup_tickets *tickets;
    struct metrics_history *history; /* added to by the main thread */
    struct workers *workers;
    int64_t started_at_ms;
    bool closed;               /* every request needs an access token */
    atomic_bool opened;        /* `store` may be used */
    atomic_bool stepping_down; /* the main thread is to give the lease up */
    atomic_bool stopping;      /* /readyz answers 503 from now on */
    struct role role;
    struct counters counters;
    struct slow_log slow;
};

/* Did the request begin while this process was a standby? Its loop's thread. */
static inline bool request_is_on_standby(const struct request *request)
{
    return request->reader == NULL && request->service->role.shared;
}

#endif
