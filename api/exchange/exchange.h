/* The life of one request and its reply, the same for HTTP/1.1 and HTTP/2. The
 * protocol side (api/http1, api/http2) calls in this order:
 *
 *   exchange_begin, exchange_target   the request line has arrived
 *   exchange_open                     the headers have arrived: admission
 *   exchange_body                     a part of the body has arrived
 *   exchange_run                      the body is complete: the handler runs
 *   (parked; ready is called)         the reply is complete
 *   exchange_chunk                    for a reply that is a stream
 *   exchange_end                      the reply is sent or the client is gone
 *
 * All functions belong to the thread of the exchange's event loop. */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include "exchange/run_queue.h"
#include "http/problem.h"
#include "http/timing.h"

enum exchange_phase {
    EXCHANGE_NEW,     /* waits for its headers */
    EXCHANGE_OPEN,    /* takes its body */
    EXCHANGE_REFUSED, /* takes its body to drop it; the reply is made */
    EXCHANGE_RUNNING, /* makes its reply */
    EXCHANGE_READY    /* the reply, or its next chunk, can be sent */
};

/* The event that a parked exchange waits for. */
enum exchange_awaits {
    AWAITS_NOTHING, /* it is not parked */
    AWAITS_START,   /* a turn in which its handler begins */
    AWAITS_COMMIT,
    AWAITS_FLUSH,
    AWAITS_TURN,
    AWAITS_NEWS,  /* the event in request.wait */
    AWAITS_VIEW,  /* a batch is being applied */
    AWAITS_WORKER /* another thread has it (workers.h) */
};

enum exchange_next { EXCHANGE_REPLY, EXCHANGE_PARK };

enum exchange_chunk { CHUNK_DATA, CHUNK_PARK, CHUNK_END, CHUNK_BROKEN };

struct handler_call;
struct fiber;
struct coder;

/* The functions of the protocol side that an exchange calls. */
struct exchange_protocol {
    /* A parked exchange has become EXCHANGE_READY, or its next chunk can be
     * asked for again. On the loop's thread. */
    void (*ready)(struct exchange *exchange);
    /* Ends an exchange that waits for its client (charge.c), at once or
     * soon after, because others need what it holds. The client must be able to
     * tell the result from a complete reply. */
    void (*cut)(struct exchange *exchange);
    /* Returns the bytes of the reply that the client took and exchange->moved
     * does not count. NULL: exchange->moved counts all bytes. */
    uint64_t (*taken)(const struct exchange *exchange);
};

struct exchange {
    struct request request;
    struct reply reply;
    struct run_queue *queue;
    struct exchange *next;         /* in a list of the run queue */
    TAILQ_ENTRY(exchange) waiting; /* for a notification */
    struct alarm alarm;            /* for when that wait ends */
    struct kx_ticket ticket;       /* for a flush or a view */
    struct kx_buffer target;       /* of the request line */
    struct kx_buffer body;
    struct kx_buffer head; /* header lines of the reply, if over HTTP/1.1 */
    /* The members from here to `timing` are zeroed for the next request. */
    uint64_t held;         /* bytes counted in the service's body_bytes */
    struct tenant *client; /* whose limits count this exchange; NULL: none */
    bool counted;          /* it is in the service's in_flight */
    bool streaming;        /* it is in its client's streams */
    bool awaits_client;    /* it waits for its client */
    /* While awaits_client is set: */
    TAILQ_ENTRY(exchange) awaiting; /* in the run queue's `awaiting` */
    uint64_t since_ns;              /* when bytes last moved */
    uint64_t moved_before;          /* bytes that had moved at since_ns */
    uint64_t moved;      /* bytes from the client or to it, as far as known */
    uint64_t short_ns;   /* since when there is no memory for the next chunk */
    struct fiber *fiber; /* of the handler, until it has ended */
    struct handler_call *call; /* what the fiber is parked for
                                * (exchange_call.h) */
    struct stream *parts; /* the stream that the handler sends, once its first
                           * part is complete; else NULL */
    uint64_t part_ns;     /* when the next of `parts` was begun */
    struct coder *coder;  /* compresses the chunks of a stream, or NULL */
    size_t sent;          /* bytes sent of the current chunk */
    uint64_t streamed;    /* bytes of all chunks */
    enum exchange_phase phase;
    enum exchange_awaits awaits;
    bool last;      /* the current chunk is the stream's last one */
    bool committed; /* a commit of the handler has a result */
    bool begun;     /* the handler has read, or had a turn */
    bool admitted;  /* by a follower: only for request.caller.standby_read */
    bool owes_hold_done; /* kx_read_hold_done is to be called */
    bool memory_short;   /* the handler was refused because of --bodies-max */
    uint64_t read_until_ns;  /* when the worker stops waiting */
    uint64_t after_until_ns; /* when a read no longer waits for the position
                              * that it wants; 0: it has not waited yet */
    struct kx_position seen; /* where a follower has read last; else zeros */
    bool news_came;          /* before the worker had ended: request.wait is
                              * over */
    bool client_gone; /* the client is gone. A parked exchange is then made
                       * `ready` without further work */
    const struct exchange_protocol *protocol; /* set before exchange_open */
    struct timing timing;
    struct kx_reads reads;
    char server_timing[TIMING_TEXT_MAX];
    char position[2 * 20 + 2]; /* Kindex-At: two numbers of 64 bits */
};

/* Returns an empty exchange of this run queue. It is in flight until
 * exchange_end, and counts for this client, or for none if client is NULL; a
 * token of the request replaces the client. NULL when memory ran out: the
 * protocol side then drops the connection. */
struct exchange *exchange_begin(struct run_queue *queue, struct tenant *client);
/* Gives the exchange back to its run queue. It must not be parked. */
void exchange_end(struct exchange *exchange);

/* Takes a copy of the raw target of the request line. Memory that runs out here
 * becomes a 503 in exchange_run. */
void exchange_target(struct exchange *exchange, const char *target,
                     size_t size);
/* The headers have arrived: the caller has set the request's method, header
 * function and connection. body_size is the announced size of the body, 0 if it
 * is unknown. Afterwards the phase is EXCHANGE_OPEN, or EXCHANGE_REFUSED if the
 * request is refused. */
void exchange_open(struct exchange *exchange, uint64_t body_size);
/* Called in place of exchange_open when the protocol side has found an error,
 * which detail states. The phase is then EXCHANGE_REFUSED. */
void exchange_refuse(struct exchange *exchange, enum problem_code code,
                     const char *detail);
/* Appends to the body. The body of a refused request is dropped. */
void exchange_body(struct exchange *exchange, const void *data, size_t size);
/* Runs the handler after the body is complete, now or in another turn of the
 * loop. EXCHANGE_REPLY: the reply is to
 * be sent, also for a refused request. EXCHANGE_PARK: the reply is not complete
 * yet; `ready` will be called, never from within this call. */
enum exchange_next exchange_run(struct exchange *exchange);

/* For exchange_loop.c: continues a parked exchange whose answer or turn has
 * arrived. */
void exchange_continue(struct exchange *exchange);
/* For the protocol side: the client of a parked exchange is gone. `ready` is
 * called as soon as neither core nor run queue holds the exchange, perhaps from
 * within this call. */
void exchange_cancel(struct exchange *exchange);
/* For exchange_loop.c: ends the wait of an exchange for a notification
 * (request.wait) and continues the exchange. Does nothing if the core is
 * already delivering the notification. */
void exchange_wake(struct exchange *exchange);
/* For exchange_loop.c: ends an exchange of the queue of turns. Its reply
 * becomes a problem; a stream that has begun is broken off. If its answer has
 * arrived, the exchange is continued instead. */
void exchange_abandon(struct exchange *exchange);

/* Copies up to `size` bytes of the stream to out. CHUNK_DATA: *copied_out says
 * how many, at least one. CHUNK_PARK: `ready` will be called. CHUNK_END: the
 * stream has ended. CHUNK_BROKEN: the reply cannot be completed. */
enum exchange_chunk exchange_chunk(struct exchange *exchange, void *out,
                                   size_t size, size_t *copied_out);

#endif
