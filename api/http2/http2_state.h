/* State shared by the files of the room: the connections of one event loop and
 * their streams. http2_session.c calls nghttp2, which calls http2.c;
 * http2_stream.c turns streams into exchanges; http2_connection.c moves bytes
 * and watches deadlines. All functions of these files belong to the thread of
 * the loop. */
#ifndef API_HTTP2_STATE_H
#define API_HTTP2_STATE_H

#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "exchange/exchange.h"
#include "http2/http2.h"
#include "http2/http2_head.h"
#include "net/socket_io.h"

enum {
    HTTP2_INPUT = 64 * 1024,   /* bytes read from a connection at once */
    HTTP2_OUTPUT = 64 * 1024,  /* bytes sent to a connection at once, plus a
                                * frame; also limits its unsent bytes */
    HTTP2_WINDOW = 1 << 20,    /* flow-control window in bytes of each stream
                                * and of each connection */
    HTTP2_HELD_MAX = 16 << 20, /* bytes of unread replies of one connection at
                                * which its further requests wait */
    HTTP2_FEW = 16,            /* streams of one connection that may use the
                                * reserved half of the places */
    HTTP2_SMALL = 64 * 1024,   /* bytes of replies that a connection may hold
                                * when memory is short */
    HTTP2_HEADS_MAX = 4,       /* a head longer than this many times the
                                * announced limit ends the connection */
    HTTP2_LEAVE_MS = 2000,     /* time for the remainder of an answered request
                                */
    HTTP2_DRAIN_MAX = 1 << 20, /* bytes discarded after GOAWAY */
    HTTP2_FIELDS_MAX = REPLY_HEADERS_MAX + 4
};

/* Why a connection or stream ends, by the numbers of RFC 9113 section 7. */
enum http2_error {
    HTTP2_NO_ERROR = 0,
    HTTP2_PROTOCOL_ERROR = 1,
    HTTP2_INTERNAL_ERROR = 2,
    HTTP2_REFUSED_STREAM = 7,
    HTTP2_CANCEL = 8,
    HTTP2_ENHANCE_YOUR_CALM = 11
};

struct http2_stream;
TAILQ_HEAD(http2_streams, http2_stream);

/* One request and its reply, allocated in the request's memory. */
struct http2_stream {
    struct exchange *exchange;
    struct http2_connection *connection; /* NULL: the client is gone */
    int32_t id;
    struct http2_message message;
    struct http2_head head;
    TAILQ_ENTRY(http2_stream) all;
    TAILQ_ENTRY(http2_stream) runnable_order;
    TAILQ_ENTRY(http2_stream) order;
    uint64_t deadline_ns; /* if `waiting` */
    TAILQ_ENTRY(http2_stream) await_order;
    struct http2_streams *awaited; /* the list `heads`, `bodies` or `left` of
                                    * struct http2, or NULL */
    uint64_t request_deadline_ns;  /* if `awaited` is not NULL */
    bool malformed;                /* a field is malformed */
    bool whole;                    /* the request is complete */
    bool runnable;                 /* runs at the end of this input */
    bool begun;                    /* has become runnable, which happens once */
    bool parked;                   /* its exchange is parked */
    bool waiting;                  /* waits for the client */
    bool replied;                  /* the library has the reply's head */
    size_t dropped;                /* bytes of an unwanted body, discarded */
    size_t sent;                   /* bytes sent of a reply that is not a stream
                                    */
    size_t held;                   /* bytes of the reply counted as held */
    char status[24];
    char length[24];
};

enum {
    FLOOD_BURST = 1000,     /* idle frames in a burst */
    FLOOD_PER_SECOND = 100, /* idle frames regained per second */
    FLOOD_EARNED = 2        /* idle frames earned by each frame of a reply */
};

/* How many idle frames a client may send. An idle frame brings no request
 * nearer to its reply: PING, SETTINGS, resets, unknown types, DATA that is
 * empty or only padding. Clients need a few of them; thousands are an attack.
 * Only http2_connection.c uses the members. */
struct http2_flood {
    uint32_t left;
    uint64_t since_ns;
};

struct http2_connection {
    struct socket_io io; /* first, because it is the event source */
    struct connection accepted;
    struct http2 *http2;
    nghttp2_session *session; /* NULL: GOAWAY has ended it */
    struct http2_flood flood;
    bool flooded;     /* the client exceeded http2_flood */
    bool starved;     /* the library ran out of memory while sending and would
                       * now free a frame twice, so the session is leaked */
    bool dirty;       /* in `dirty` of struct http2 */
    bool heard;       /* input has arrived since the last output */
    size_t open;      /* streams */
    size_t parked;    /* streams whose exchange is parked */
    size_t head_size; /* bytes of the incoming head, counted as in RFC 9113
                       * section 6.5.2 */
    size_t held;      /* bytes of replies held by all streams */
    size_t drained;
    uint64_t deadline_ns;
    struct http2_streams streams;
    struct http2_streams runnable; /* streams to run */
    TAILQ_ENTRY(http2_connection) order;
    STAILQ_ENTRY(http2_connection) next_dirty;
};

TAILQ_HEAD(http2_connections, http2_connection);
STAILQ_HEAD(http2_dirty, http2_connection);

/* All connections of one event loop. */
struct http2 {
    struct run_queue *queue;
    int epoll_fd;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_data_provider body;           /* reads the bodies of replies */
    struct http2_connections connections; /* by deadline */
    struct http2_streams waiting;         /* likewise */
    struct http2_streams heads;  /* incomplete heads, by request_deadline_ns */
    struct http2_streams bodies; /* likewise */
    struct http2_streams left;   /* answered but incomplete requests, by
                                  * request_deadline_ns */
    struct http2_dirty dirty;    /* connections to handle in this turn */
    uint64_t now_ns;             /* monotonic time of this turn */
    struct kx_buffer output;     /* of the current connection */
    uint8_t input[HTTP2_INPUT];
};

#endif
