/* What a handler sees of a request and of its reply. No type of an HTTP
 * library appears here: every door fills the same struct request and sends the
 * same struct reply.
 *
 * A handler runs on the event-loop thread and never blocks. It ends with
 *   DONE    the reply is complete;
 *   COMMIT  request->commit is filled: the door submits it, parks the request,
 *           and calls the route's `finish` with the commit's result;
 *   AGAIN   there is more to do than fits in one slice: the door calls the
 *           handler again after other requests had their turn. request->slices
 *           counts the calls before this one, request->state is the handler's.
 *   WAIT    request->wait is with the core: the door calls the same half again
 *           when its ticket is answered, its time is over, or the server stops
 *           (then service->stopping is set, and nothing may wait any more).
 *   VIEW    it needs a view, which would have to wait: the door calls the same
 *           half again, which begins anew, when it can have one. Until a half
 *           ends all its views see one state then.
 */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "kindex.h"
#include "http/trace.h"

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

/* Value of a request header by its name (any case), NULL when absent. When a
 * list header is repeated the door joins the values with ", ". */
typedef const char *header_fn(const struct request *request, const char *name);

/* What a handler or a stream waits for: it gives the ticket to the core, and
 * says how to take it back. */
struct wait {
    struct kx_ticket ticket; /* its owner is the exchange */
    bool (*cancel)(struct kx_store *store, struct kx_ticket *ticket);
    uint64_t until_ns; /* by the monotonic clock; 0: for ever */
};

/* Who asks, as admission found out; the rest is access.c's. */
struct caller {
    struct kx_token *token; /* NULL: nobody needs one */
    const char *origin;     /* of a page that may read the reply, or NULL */
    bool asked;             /* its rights on keys were looked at */
    bool own_checks;        /* the commit's checks are the service's own */
    bool streaming;         /* counted among the token's streams */
};

/* Filled by the door, then by admission.c; `slices` and `commit`'s result by
 * the exchange. A handler only reads it, but for commit, state, and what it
 * allocates in memory. It is used by the loop's thread alone, except for commit
 * and memory while a commit is under way. */
struct request {
    struct service *service;  /* the store, the options, the counters */
    struct kx_reader *reader; /* of this event-loop thread */
    enum method method;
    struct kx_slice path;  /* raw: not decoded, without the query */
    struct kx_slice query; /* raw, without '?'; empty when there is none */
    header_fn *header;
    void *connection;      /* the door's, for header_fn */
    uint64_t header_sizes; /* the door's, too */
    struct trace trace;
    struct kx_slice body;
    void *memory; /* talloc context, freed after the reply */
    const struct route *route;
    struct caller caller;
    struct kx_slice argument; /* raw path segment for {name} in the pattern */
    struct kx_slice subject;  /* of the audit line: the argument, or the name
                               * of what was made */
    struct kx_slice tail;     /* raw rest of the path for a pattern that ends
                               * in /... (without the leading '/') */
    bool has_tail;            /* the path had that '/' */
    struct kx_commit commit;  /* for COMMIT */
    struct wait wait;         /* for WAIT */
    unsigned slices;          /* calls of the handler before this one */
    void *state;              /* what the handler keeps between its calls */
    size_t kept; /* bytes in it that --bodies-max counts: it is freed
                  * when there is no memory for them */
};

/* Both strings must live until the reply is sent. */
struct header {
    const char *name;
    const char *value;
};

enum { REPLY_HEADERS_MAX = 20 };

/* Filled by the handler; clean at its first call. When body.failed is set
 * (memory ran out somewhere) the reply becomes a 503 whatever else it says, so
 * handlers need not check each addition. */
struct reply {
    int status;               /* HTTP status */
    const char *content_type; /* NULL: no body */
    struct kx_buffer body;
    struct kx_slice constant; /* instead of body: lives as long as the program,
                               * and is not copied */
    struct header headers[REPLY_HEADERS_MAX];
    size_t header_count;
    uint64_t flush;        /* 0, or: keep the reply back until this flush
                            * (from kx_read_end) */
    struct stream *stream; /* instead of body: pulled chunk by chunk */
};

/* The bytes of a body that is no stream. */
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

/* A body that is made while it is sent. */
struct stream {
    /* Appends the next slice (some tens of kilobytes at most) to chunk and sets
     * *flush_out as in struct reply: the chunk is kept back until then. Returns
     * false when this was the last one. With nothing to say for now it appends
     * nothing; it is asked again after others had their turn, or if it has set
     * request->wait, when that is over (see WAIT). */
    bool (*next)(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out);
    struct request *request;
    void *state;
    bool viewless; /* it never needs a view */
    bool lasting;  /* it may last for hours: the connection can be its own, and
                    * end with it */
};

/* Does the work of a route, or one slice or half of it; see the head of this
 * file. Every failure is a reply as well: there is no other way to end. */
typedef enum progress handler_fn(struct request *request, struct reply *reply);

/* What the caller's token must allow, once there are tokens (access.h). Where
 * nothing else is said the handler asks for the keys concerned. */
enum scope {
    SCOPE_NONE,  /* no token is needed */
    SCOPE_TOKEN, /* any token will do; it is about no keys */
    SCOPE_KEYS,  /* whatever the keys in the request need */
    SCOPE_READ,  /* of keys that are known */
    SCOPE_LIST,  /* ranges, and what they hold */
    SCOPE_WATCH,
    SCOPE_WRITE,
    SCOPE_MONITOR, /* for all keys; no handler asks */
    SCOPE_INDEX,   /* from here on the audit log has a line for each request */
    SCOPE_TOKENS,  /* SCOPE_ADMIN for the keys that a token is for */
    SCOPE_ADMIN    /* for all keys; no handler asks */
};
/* Which limit the body has: none allowed, --value-max, or --body-max. The last
 * two are KV Connect's, with BODY_KEYS_MAX and --body-max: there a problem is
 * answered as plain text. */
enum body_limit {
    BODY_NONE,
    BODY_VALUE,
    BODY_ENVELOPE,
    BODY_KEYS,
    BODY_MESSAGE
};
enum { BODY_KEYS_MAX = 64 * 1024 /* bytes: some keys, no values */ };

/* One row of the route table. Pattern: literal segments, "{name}" for one
 * segment, and a last "..." for the rest of the path (which may be missing). */
struct route {
    enum method method; /* HEAD is served by the GET row */
    const char *pattern;
    const char *operation; /* operationId in openapi.yaml */
    enum scope scope;
    enum body_limit body;
    handler_fn *handle;
    handler_fn *finish; /* after COMMIT, else NULL */
    bool views;         /* `handle` needs a view in any case: it is called when
                         * it can have one without waiting */
};

#endif
