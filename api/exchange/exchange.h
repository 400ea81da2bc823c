/* The life of one request and its reply, whatever door it came through:
 *
 *   exchange_begin, exchange_target   the request line is there
 *   exchange_open                     the headers are there: gates and route
 *   exchange_body                     some of the body is there
 *   exchange_run                      all is there: the handler runs
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
    EXCHANGE_AWAITS_COMMIT,
    EXCHANGE_AWAITS_FLUSH,
    EXCHANGE_AWAITS_TURN,
    EXCHANGE_AWAITS_NEWS,        /* what request.wait says */
    EXCHANGE_AWAITS_VIEW,        /* a batch is being applied */
    EXCHANGE_READY,              /* the reply can be sent */
    EXCHANGE_CHUNK_AWAITS_FLUSH, /* the next chunk of a stream is kept back */
    EXCHANGE_CHUNK_AWAITS_TURN,  /* it is not made yet */
    EXCHANGE_CHUNK_AWAITS_NEWS,  /* nor can it be before request.wait is over */
    EXCHANGE_CHUNK_AWAITS_VIEW
};

enum exchange_next { EXCHANGE_REPLY, EXCHANGE_PARK };

enum exchange_chunk { CHUNK_DATA, CHUNK_PARK, CHUNK_END, CHUNK_BROKEN };

/* What an exchange asks of the door that it came through. */
struct exchange_door {
    /* A parked exchange is EXCHANGE_READY, or its next chunk can be asked for
     * again. On the loop's thread. */
    void (*ready)(struct exchange *exchange);
    /* An exchange that waits for its client (exchange_share.c) is to end now:
     * others need what it holds. The client must be able to tell that from a
     * complete reply. Ends it at once, or soon after. */
    void (*cut)(struct exchange *exchange);
    /* Bytes of the reply that the client took, but for those of
     * exchange->moved; NULL: there are no others. */
    uint64_t (*taken)(const struct exchange *exchange);
};

struct exchange {
    struct request request;
    struct reply reply;
    struct run_queue *desk;
    struct exchange *next;         /* in a list of the desk */
    TAILQ_ENTRY(exchange) waiting; /* for news */
    struct alarm alarm;            /* for when that is over */
    struct kx_ticket ticket;       /* for a flush or a view */
    struct kx_buffer target;       /* of the request line */
    struct kx_buffer body;
    uint64_t held;       /* bytes among the service's body_bytes */
    struct guest *guest; /* among whose it counts, too; NULL: nobody's */
    bool counted;        /* it is, and among the service's in_flight */
    bool expectant;      /* it waits for its client: */
    TAILQ_ENTRY(exchange) client; /* in a list of the desk, */
    uint64_t since_ns;            /* since then, */
    uint64_t moved_before;        /* as of which that many bytes had moved */
    uint64_t moved;    /* bytes from the client or to it, as far as known */
    uint64_t short_ns; /* since when there is no memory for the next chunk */
    size_t sent;       /* bytes of the present chunk */
    uint64_t streamed; /* bytes of all chunks */
    struct timing timing;
    struct kx_reads reads;
    char server_timing[TIMING_TEXT_MAX];
    enum exchange_phase phase;
    bool last;      /* the present chunk is the stream's last one */
    bool finishing; /* the handler's second half has begun */
    bool views;     /* the handler has asked for a view */
    bool forsaken;  /* nobody waits for the reply any more. A parked exchange is
                     * then made `ready` without further work */
    const struct exchange_door *door; /* set before exchange_open */
};

/* A clean exchange of this desk, counted as in flight until exchange_end, and
 * as this guest's, until a token makes it another's (NULL: nobody's); NULL when
 * memory ran out: the door then drops the connection. */
struct exchange *exchange_begin(struct run_queue *desk, struct guest *guest);
/* Gives the exchange back to its desk. It must not be parked. */
void exchange_end(struct exchange *exchange);

/* Takes a copy of the raw target of the request line. Memory that runs out here
 * becomes a 503 in exchange_run. */
void exchange_target(struct exchange *exchange, const char *target,
                     size_t size);
/* Takes the request's method, header function and connection from request, and
 * the announced size of its body (0 also when it is not known). Afterwards the
 * phase is EXCHANGE_OPEN or, when it is refused, EXCHANGE_REFUSED. */
void exchange_open(struct exchange *exchange, uint64_t body_size);
/* In place of exchange_open: the door itself found something wrong, which
 * detail says. The phase is EXCHANGE_REFUSED. */
void exchange_refuse(struct exchange *exchange, enum problem_code code,
                     const char *detail);
/* Takes more of the body; that of a refused request is dropped. */
void exchange_body(struct exchange *exchange, const void *data, size_t size);
/* Runs the handler, once the body is complete. EXCHANGE_REPLY: reply is to be
 * sent, also that of a refused request. EXCHANGE_PARK: it is not there yet, and
 * `ready` will be called, never from within this call. */
enum exchange_next exchange_run(struct exchange *exchange);

/* The desk's: goes on with a parked exchange whose answer or turn came. */
void exchange_continue(struct exchange *exchange);
/* The door's: the client of a parked exchange is gone. `ready` is called as
 * soon as the exchange is nobody else's, perhaps from within this call. */
void exchange_forsake(struct exchange *exchange);
/* The desk's: goes on with an exchange that waits for news (request.wait) as if
 * they had come; nothing happens when they are just coming. */
void exchange_wake(struct exchange *exchange);
/* The desk's: ends an exchange that waits for its turn with a problem. */
void exchange_abandon(struct exchange *exchange);

/* Copies up to `size` bytes of the stream to out. CHUNK_DATA: *copied_out says
 * how many, at least one. CHUNK_PARK: `ready` will be called. CHUNK_END: all
 * was given. CHUNK_BROKEN: the reply cannot be completed. */
enum exchange_chunk exchange_chunk(struct exchange *exchange, void *out,
                                   size_t size, size_t *copied_out);

/* ---- exchange_memory.c -------------------------------------------------- */

/* Counts what the exchange's bodies take now among those of all. */
void exchange_count_memory(struct exchange *exchange);
/* Bytes of memory that the exchange takes beside its request's body: for its
 * reply, and for what was decoded. */
size_t exchange_beside_body(const struct exchange *exchange);
/* Empties a buffer for reuse. A large one gives its memory back: one large
 * request on each exchange would else keep that for ever. */
void exchange_empty(struct kx_buffer *buffer);
/* Gives back what a buffer that grows no further has not used, if that is
 * much. */
void exchange_fit(struct kx_buffer *buffer);

#endif
