/* What all event loops of a server share. server.c makes it before the loops
 * start and frees it after they have ended. While loops run, only counters, the
 * atomic flags, `slow` and `role` change; these are atomic or have a lock. On a
 * standby (role.h) `store` is NULL until `opened` is set. */
#ifndef API_SERVICE_H
#define API_SERVICE_H

#include <stdatomic.h>

#include "config/options.h"
#include "http/request.h"
#include "http/role.h"
#include "http/slow_log.h"

struct tenants;
struct backup_tickets;
struct metrics_history;
struct tls_keyring;
struct issuer;
struct identities;
struct workers;

enum { ROUTES_MAX = 80, STATUS_CLASSES = 6 };

/* Results of requests that this node forwards to the active node. */
enum forwarded {
    FORWARDED_ANSWERED,
    FORWARDED_UNREACHABLE, /* not sent: no active node is known or reachable */
    FORWARDED_UNANSWERED,  /* sent, but no answer arrived */
    FORWARDED_REFUSED,     /* not sent: too many requests were in flight */
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
    atomic_uint_fast64_t
        body_bytes; /* of requests and replies, including unsent bytes */
    atomic_uint_fast64_t
        body_bytes_most;            /* since heap_trim_after_peak gave back */
    atomic_uint_fast64_t in_flight; /* requests begun, not replied */
    atomic_uint_fast64_t slow;      /* requests over --slow-ms */
    atomic_uint_fast64_t streams_refused; /* of HTTP/2, over a limit */
    atomic_uint_fast64_t stalled;         /* requests ended for others */
    atomic_uint_fast64_t short_ns;        /* when a limit was last reached */
    atomic_uint_fast64_t floods; /* HTTP/2 connections ended as floods */
    atomic_uint_fast64_t next_request_id; /* the first one is random */
    atomic_uint_fast64_t forwarded[FORWARDED_RESULTS];
};

struct service {
    struct kx_store *store;
    struct kx_store *follower_store; /* read by followers (kindex/node.h); NULL
                                      * with a data directory */
    bool lacks_token_file; /* a standby without the file of --token-file does
                            * not know whether a token is needed, so it answers
                            * no reads. Set before the loops start */
    const struct options *options;
    const struct route_table *routes; /* all operations (server/routes.c) */
    struct tenants *tenants;
    struct tls_keyring *keyring;   /* NULL: no TLS */
    struct issuer *issuer;         /* NULL: no JSON Web Tokens */
    struct identities *identities; /* NULL: no --grants. If there are any, no
                                    * request without a token is answered */
    handler_fn *forward;           /* runs in place of a route's handler if the
                                    * active node answers; NULL: no other nodes */
    struct backup_tickets *tickets;
    struct metrics_history *history; /* added to by the main thread */
    struct workers *workers;
    int64_t started_at_ms;
    bool closed;               /* every request needs an access token */
    atomic_bool opened;        /* `store` may be used */
    atomic_bool stepping_down; /* asks the main thread to release the lease */
    atomic_bool stopping;      /* /readyz answers 503 from now on */
    struct role role;
    struct counters counters;
    struct slow_log slow;
};

/* True if the request began while this process was a standby. The loop's
 * thread. */
static inline bool request_is_on_standby(const struct request *request)
{
    return request->reader == NULL && request->service->role.shared;
}

#endif
