/* Request and reply as handlers see them. No type of an HTTP library appears
 * here: HTTP/1.1 and HTTP/2 (the protocol side) fill the same struct request
 * and send the same struct reply.
 *
 * A handler runs once, from top to bottom, on a fiber of its event loop
 * (api/exchange/fiber.h), and makes the whole reply; every failure is a reply,
 * too. What waits is a call (request_read and those below it), for which the
 * fiber parks; if a call returns false the reply is complete, and the handler
 * only returns. The store is read in sections alone. A handler that is parked
 * may be dropped at any call, so what it owns (memory, locks, references) is a
 * child of request->memory, or has a destructor in it.
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
    void *source;      /* for that function, or NULL */
    uint64_t until_ns; /* end by the monotonic clock; 0: none */
};

/* The caller, as admission identified it. For access.c, except the origin,
 * which cors.c sets. */
struct caller {
    struct kx_token *token; /* NULL: none is needed */
    const char *origin;     /* of a page that may read the reply, or NULL */
    bool forwarded;         /* the active node checks the rights and answers */
    bool ticket;            /* it has the rights of the client that made its
                             * ticket, although the route needs no token */
    bool standby_read;      /* this node is a standby and answers itself, on a
                             * worker whose reader is a follower */
    bool asked;             /* its rights on keys were checked */
    bool own_checks;        /* the commit's checks are the service's own */
    size_t cleared;         /* mutations of the commit, from the first one on,
                             * for which the rights were checked */
};

/* Filled by the protocol side and by admission.c; the exchange sets the
 * commit's result. A handler writes only commit, wait, advice and kept, and
 * allocates in memory. Only the loop's thread uses it, except that commit
 * and memory belong to the writer while the commit is with it. */
struct request {
    struct service *service;  /* the store, the options, the counters */
    struct kx_reader *reader; /* of this thread; NULL in work */
    enum method method;
    struct kx_slice path;  /* raw: not decoded, without the query */
    struct kx_slice query; /* raw, without '?'; empty without a query */
    header_fn *header;     /* called by request_header */
    void *connection;      /* of the protocol side, for header_fn */
    struct client_certificate *certificate; /* of the client, a reference;
                                             * NULL: none */
    const char *authority; /* host of an absolute target of HTTP/1.1, which
                            * header_fn returns for Host; or NULL */
    uint64_t absent;       /* bits of names (header_bit) that no header has */
    struct trace trace;
    struct kx_slice body;
    void *memory; /* talloc context, freed after the reply */
    const struct route *route;
    struct caller caller;
    struct kx_slice argument; /* raw path segment for {name} in the pattern */
    struct kx_slice subject;  /* subject of the audit line: the argument, or the
                               * name of the created object */
    struct kx_slice tail;     /* raw remainder of the path for a pattern that
                               * ends in /... (without the leading '/') */
    bool has_tail;            /* the path had that '/' */
    struct wait wait;         /* for request_wait */
    const char *advice; /* JSON: how the request could read less, or NULL */
    size_t kept;        /* bytes in memory that --bodies-max counts */
    /* Last, because all before it is zeroed for the next request. */
    struct kx_commit commit; /* for request_commit */
};

/* Returns one of 64 bits for a header name, by its length and first letter,
 * ignoring case. */
static inline uint64_t header_bit(const char *name, size_t size)
{
    return 1ull << (size + 3 * (size_t)(name[0] | 0x20)) % 64;
}

/* Returns the value of a header, like header_fn. Most headers that are looked
 * up are absent; for HTTP/1.1 their bit shows that without a call. */
static inline const char *request_header(const struct request *request,
                                         const char *name)
{
    bool absent = (request->absent & header_bit(name, strlen(name))) != 0;
    return absent ? NULL : request->header(request, name);
}

/* True if the section has its view. Only request_peek runs a section without
 * one. */
static inline bool request_holds_view(const struct request *request)
{
    return request->reader != NULL && kx_read_try_hold(request->reader);
}

/* ---- Calls of a handler -------------------------------------------------- */

struct reply;
struct input_error;
/* A part of a handler that reads, in one view, on the loop's thread or on a
 * worker. It makes no calls. */
typedef void section_fn(struct request *request, struct reply *reply,
                        void *arg);
/* A part of a handler that takes long and does not read. */
typedef void work_fn(struct request *request, void *arg);
/* Work that reads the request's input. Returns false with the error. */
typedef bool input_fn(struct request *request, void *arg,
                      struct input_error *error);

/* Handlers only call these. If a call returns false, the reply is complete.
 * After the wait the caller's token is checked again, unless a commit was made.
 *
 * Runs the section in a view: on the loop's thread, or on a worker if the disk
 * is slow or the rows are on another machine. */
bool request_read(struct request *request, section_fn *section, void *arg);
/* Runs the section without a view: it may only try kx_read_alone. Does nothing
 * if the caller's rights depend on the catalog, or on a standby. If the reply
 * is not complete afterwards, call request_read. */
void request_peek(struct request *request, section_fn *section, void *arg);
/* Runs the work, on another thread if the request's body is large. */
bool request_work(struct request *request, work_fn *work, void *arg);
/* Reads the request's input, where request_work runs. An error becomes the
 * reply. */
bool request_input(struct request *request, struct reply *reply, input_fn *read,
                   void *arg);
/* Submits request->commit, once the caller's rights on it are checked, and
 * waits until it is durable or refused, as commit.status then says. */
bool request_commit(struct request *request);
/* Waits until other requests had their turn. */
bool request_turn(struct request *request);
/* Waits until request->wait has ended: by a notification through its ticket,
 * which the store has, at its end time, or because the server stops
 * (service->stopping). */
bool request_wait(struct request *request);
/* Sends the body of the reply as a chunk of the stream, which has no `next`,
 * and waits until the client has taken it. The reply ends when the handler
 * returns.
 */
bool request_send(struct request *request, struct stream *stream);
/* Runs the section on the loop's own stack, without a view: for what must stay
 * on this thread and may need more stack than a fiber has. */
void request_apart(struct request *request, section_fn *section, void *arg);

/* True if the commit's result is the outcome of an earlier request with the
 * same Idempotency-Key. */
static inline bool request_is_replayed(const struct request *request)
{
    const struct kx_idempotency *idempotency = request->commit.idempotency;
    return idempotency != NULL && idempotency->replayed;
}

/* Both strings must live until the reply is sent. */
struct header {
    const char *name;
    const char *value;
};

enum {
    REPLY_HEADERS_MAX = 20,
    ETAG_SIZE = KX_STAMP_DIGITS + 2 /* a versionstamp in quotes */
};

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
    char etag[ETAG_SIZE + 1]; /* value of its header ETag, if it has one */
    uint64_t flush;           /* 0, or: keep the reply back until this flush
                               * (from kx_read_end) */
    struct stream *stream;    /* in place of body: asked for chunk by chunk */
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
    /* NULL: the handler sends the chunks (request_send). Otherwise appends the
     * next slice (at most some tens of kilobytes) to chunk and sets *flush_out:
     * the chunk is held back until that flush, as in struct reply. Returns
     * false if this was the last slice. A stream without news appends nothing;
     * it is called again after other requests had their turn or, if it has set
     * request->wait, when that wait has ended. */
    bool (*next)(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out);
    /* Without `next`: a problem after the first chunk ends the stream. This
     * function changes the chunk, which has the problem's document, into the
     * last chunk. */
    void (*refused)(struct stream *stream, struct kx_buffer *chunk);
    struct request *request;
    void *state;
    uint64_t size;      /* bytes of all chunks; 0: unknown */
    bool needs_no_view; /* chunks are made without a view */
    bool lasting;       /* may last for hours: the connection may serve only
                         * this stream and end with it */
};

/* Handles the requests of a route; see the head of this file. */
typedef void handler_fn(struct request *request, struct reply *reply);

/* The right that the caller's token must have (access.h). Unless noted
 * otherwise, the handler checks it for the keys concerned. */
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

/* What a route does: a set of flags. */
enum route_flags {
    READS_LEVEL = 1, /* the client may say how strong the read is
                      * (consistency): a standby may answer */
    COMMITS = 2,     /* request->commit is used */
    OF_STANDBY = 4,  /* a standby that follows an archive answers it itself */
    SECRETS = 8      /* the reply has a secret (a token, a ticket, receipts) and
                      * is never compressed */
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
    unsigned flags; /* of enum route_flags */
};

struct route_table {
    const struct route *rows;
    size_t count;
};

#endif
