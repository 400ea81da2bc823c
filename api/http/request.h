/* Request and reply as handlers see them. No type of an HTTP library appears
 * here: HTTP/1.1 and HTTP/2 (the protocol side) fill the same struct request
 * and send the same struct reply.
 *
 * A handler runs on the event-loop thread and never blocks; where the rows are
 * on another machine, a half that needs a view runs on a read worker
 * (api/exchange/read_workers.h), each time perhaps on another. If the request
 * has a large body (api/exchange/body_worker.h) its first half begins on
 * another thread, without a reader. So the first half of a route of BODY_VALUE,
 * BODY_ENVELOPE, BODY_LINES or BODY_MESSAGE reads its body first, and keeps
 * what it read in request->state if it needs a view for what follows.
 *
 * A half ends with
 *   DONE    the reply is complete;
 *   COMMIT  request->commit is filled: the exchange submits it, parks the
 *           request, and calls the route's `finish` with the commit's result;
 *   AGAIN   there is more work than fits in one slice: the exchange calls the
 *           same half again after other requests had their turn.
 *           request->slices counts the calls of the first half before this one;
 *           request->state belongs to the handler;
 *   WAIT    request->wait is with the core: the exchange calls the same half
 *           again when its ticket is answered, its time has expired, or the
 *           server stops (service->stopping is then set, and nothing may wait
 *           any longer);
 *   VIEW    the half needs a view, which is not available at once: the exchange
 *           calls the same half again, from its beginning, when it is. Until
 *           that half ends all its views then see one state.
 */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "kindex.h"
#include "http/trace.h"

enum {
    REQUEST_TARGET_MAX = 8192,  /* bytes of a request target */
    REQUEST_DROP_MAX = 16 << 20 /* bytes of a body that is too large: read, so
                                 * that the client gets to read why */
};

enum method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_PUT,
    METHOD_PATCH,
    METHOD_POST,
    METHOD_DELETE,
    METHOD_OPTIONS,
    METHOD_OTHER
};

enum progress { DONE, COMMIT, AGAIN, WAIT, VIEW };

struct route;
struct service;
struct stream;
struct request;

/* The value of a request header by its name (any case); NULL when absent. The
 * values of a repeated list header are joined with ", ". */
typedef const char *header_fn(const struct request *request, const char *name);

/* A wait of a handler or a stream, which gives the ticket to the core and sets
 * the function that takes it back. */
struct wait {
    struct kx_ticket ticket; /* its owner is the exchange */
    bool (*cancel)(struct kx_store *store, struct kx_ticket *ticket);
    uint64_t until_ns; /* end by the monotonic clock; 0: none */
};

/* The caller, as admission identified it. For access.c, except the origin,
 * which cors.c sets. */
struct caller {
    struct kx_token *token; /* NULL: none is needed */
    const char *origin;     /* of a page that may read the reply, or NULL */
    bool elsewhere;         /* the active node checks its rights and answers */
    bool ticket;            /* what it may do is what the maker of its ticket
                             * may, although its route needs no token */
    bool follows;           /* this node answers though it is a standby, on a
                             * read worker, whose reader is a follower */
    bool asked;             /* its rights on keys were checked */
    bool own_checks;        /* the commit's checks are the service's own */
    bool streaming;         /* counted among the token's streams */
    size_t cleared;         /* mutations of the commit, from the first one on,
                             * for which the rights were checked */
};

/* Filled by the protocol side and by admission.c; the exchange sets `slices`
 * and the commit's result. A handler writes only commit, wait, state and kept,
 * and allocates in memory. Only the loop's thread uses it, except that commit
 * and memory belong to the writer while the commit is with it. */
struct request {
    struct service *service;  /* the store, the options, the counters */
    struct kx_reader *reader; /* of this thread; NULL on the body worker */
    enum method method;
    struct kx_slice path;  /* raw: not decoded, without the query */
    struct kx_slice query; /* raw, without '?'; empty without a query */
    header_fn *header;
    void *connection;      /* of the protocol side, for header_fn */
    uint64_t header_sizes; /* of the protocol side */
    struct trace trace;
    struct kx_slice body;
    void *memory; /* talloc context, freed after the reply */
    const struct route *route;
    struct caller caller;
    struct kx_slice argument; /* raw path segment for {name} in the pattern */
    struct kx_slice subject;  /* of the audit line: the argument, or the name
                               * of what was made */
    struct kx_slice tail;     /* raw remainder of the path for a pattern that
                               * ends in /... (without the leading '/') */
    bool has_tail;            /* the path had that '/' */
    bool viewless;            /* no view could be had in time: a route that
                               * needs no rows does without */
    struct wait wait;         /* for WAIT */
    unsigned slices;          /* calls of the handler before this one */
    void *state;              /* what the handler keeps between its calls */
    const char *advice; /* JSON: how the request could read less, or NULL */
    size_t kept;        /* bytes in it that --bodies-max counts: it is freed
                         * when there is no memory for them */
    /* Last, because all before it is zeroed for the next request. */
    struct kx_commit commit; /* for COMMIT */
};

/* True: until this half ends all its views begin without waiting and see one
 * state. False: the half has to return VIEW. */
static inline bool request_holds_view(const struct request *request)
{
    return request->reader != NULL && kx_read_try_hold(request->reader);
}

/* Is the commit's result the outcome of an earlier request with the same
 * Idempotency-Key? */
static inline bool request_is_replayed(const struct request *request)
{
    const struct kx_retry *retry = request->commit.retry;
    return retry != NULL && retry->replayed;
}

/* Both strings must live until the reply is sent. */
struct header {
    const char *name;
    const char *value;
};

enum { REPLY_HEADERS_MAX = 20 };

/* Filled by the handler; empty at its first call. If body.failed is set,
 * because memory ran out, the reply becomes a 503. So handlers need not check
 * each addition. */
struct reply {
    int status;               /* HTTP status */
    const char *content_type; /* NULL: no body */
    struct kx_buffer body;
    struct kx_slice constant; /* in place of body: a constant of the program,
                               * which is not copied */
    struct header headers[REPLY_HEADERS_MAX];
    size_t header_count;
    uint64_t flush;        /* 0, or: keep the reply back until this flush
                            * (from kx_read_end) */
    struct stream *stream; /* in place of body: asked for chunk by chunk */
};

/* The bytes of a body that is not a stream. */
static inline struct kx_slice reply_bytes(const struct reply *reply)
{
    return reply->constant.size > 0 ? reply->constant
                                    : kx_buffer_slice(&reply->body);
}

/* Adds a header; name and value must live as long as the request. At most
 * REPLY_HEADERS_MAX of them; Content-Type is a member of its own. */
void reply_header(struct reply *reply, const char *name, const char *value);
/* Adds a header whose value is formatted into the request's memory; sets
 * body.failed when that runs out. The value must hold no line breaks. */
void reply_headerf(struct request *request, struct reply *reply,
                   const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A body that is made while it is being sent. */
struct stream {
    /* NULL: the halves of the route make the chunks (`refused`). Else appends
     * the next slice (some tens of kilobytes at most) to chunk and sets
     * *flush_out as in struct reply: the chunk is kept back until that flush.
     * Returns false if this was the last slice. A stream without news appends
     * nothing. It is then called again after other requests had their turn, or,
     * if it has set request->wait, when that wait has ended (see WAIT). */
    bool (*next)(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out);
    /* Without `next`: what the halves have put into the reply's body is a
     * chunk. After it is sent they are called again, from the first half on,
     * until `ended` is set. A problem ends the stream, too: this function turns
     * its document, which is the chunk, into the last one. */
    void (*refused)(struct stream *stream, struct kx_buffer *chunk);
    bool ended;
    struct request *request;
    void *state;
    uint64_t size; /* bytes of all chunks, if that is known before; else 0 */
    bool viewless; /* it never needs a view */
    bool lasting;  /* it may last for hours: the connection may serve it alone
                    * and end with it */
};

/* Does the work of a route, or one slice or half of it; see the head of this
 * file. Every failure is a reply as well. */
typedef enum progress handler_fn(struct request *request, struct reply *reply);

/* The right that the caller's token must have, once there are tokens
 * (access.h). Unless noted otherwise, the handler checks it for the keys
 * concerned. */
enum scope {
    SCOPE_NONE,     /* no token is needed */
    SCOPE_OPTIONAL, /* no token is needed, but one that is sent must be valid */
    SCOPE_TOKEN,    /* any token is sufficient; no keys are concerned */
    SCOPE_KEYS,     /* the scopes that the keys in the request need */
    SCOPE_READ,     /* entries at given keys */
    SCOPE_LIST,     /* ranges and their entries */
    SCOPE_WATCH,
    SCOPE_WRITE,
    SCOPE_MONITOR, /* for all keys; no handler checks it */
    SCOPE_INDEX,   /* from here on the audit log has a line for each request */
    SCOPE_TOKENS,  /* SCOPE_ADMIN for the keys of the token concerned */
    SCOPE_ADMIN    /* for all keys; no handler checks it */
};
/* The limit of the body: no body, --value-max, --body-max, or --bulk-max. The
 * last two are for KV Connect, with BODY_KEYS_MAX and --body-max; problems of
 * their routes are plain text. */
enum body_limit {
    BODY_NONE,
    BODY_VALUE,
    BODY_ENVELOPE,
    BODY_LINES,
    BODY_KEYS,
    BODY_MESSAGE
};
enum { BODY_KEYS_MAX = 64 * 1024 /* bytes: some keys, no values */ };

/* What a route does with the rows of the store: a set. */
enum route_reads {
    READS_VIEW = 1,  /* `handle` always needs a view: it is called when it can
                      * have one without waiting */
    READS_LEVEL = 2, /* the client may say how strong the read is
                      * (consistency): a standby may answer */
};

/* One row of the route table. A pattern has literal segments, "{name}" for one
 * segment, and at its end "..." for the remainder of the path, which may be
 * missing. */
struct route {
    enum method method; /* HEAD is served by the GET row */
    const char *pattern;
    const char *operation; /* operationId in openapi.yaml */
    enum scope scope;
    enum body_limit body;
    handler_fn *handle;
    handler_fn *finish; /* after COMMIT, else NULL */
    unsigned reads;     /* of enum route_reads */
};

struct route_table {
    const struct route *rows;
    size_t count;
};

#endif
