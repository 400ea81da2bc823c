/* What the files of the room share: the connections of one event loop and their
 * streams. http2_session.c asks nghttp2, http2.c is called by it;
 * http2_stream.c makes exchanges of streams; http2_connection.c moves bytes and
 * keeps the deadlines. All functions of these files belong to the thread of the
 * loop. */
#ifndef API_HTTP2_STATE_H
#define API_HTTP2_STATE_H

#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "exchange/exchange.h"
#include "http2/http2.h"
#include "http2/http2_head.h"
#include "net/httpdate.h"
#include "net/socket_io.h"

enum {
    HTTP2_INPUT = 64 * 1024,   /* read from a connection at a time */
    HTTP2_OUTPUT = 64 * 1024,  /* sent to a connection at a time, or a bit
                                * more: and what waits for it at most */
    HTTP2_WINDOW = 1 << 20,    /* of each stream, and of a connection: bytes
                                * of bodies on their way to us */
    HTTP2_HELD_MAX = 16 << 20, /* bytes of replies that wait for the client of
                                * one connection, before it must wait */
    HTTP2_FEW = 16,            /* streams of one connection for which there is
                                * room as long as their client has any */
    HTTP2_SMALL = 64 * 1024,   /* bytes of replies that a connection may hold
                                * although there is no memory for them */
    HTTP2_HEADS_MAX = 4,       /* times the size of a head that is announced:
                                * a longer one ends the connection */
    HTTP2_LEAVE_MS = 2000,     /* for the remainder of an answered request */
    HTTP2_DRAIN_MAX = 1 << 20, /* thrown away after GOAWAY */
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

/* One request and its reply. Lives in the request's memory. */
struct http2_stream {
    struct exchange *exchange;
    struct http2_connection *connection; /* NULL: the client is gone */
    int32_t id;
    struct http2_message message;
    struct http2_head head;
    TAILQ_ENTRY(http2_stream) all;
    TAILQ_ENTRY(http2_stream) runnable_order;
    TAILQ_ENTRY(http2_stream) order;
    uint64_t deadline_ns; /* while `waiting` */
    TAILQ_ENTRY(http2_stream) await_order;
    struct http2_streams *awaited; /* heads, bodies or left of struct http2, or
                                    * NULL */
    uint64_t request_deadline_ns;  /* while something is `awaited` */
    bool malformed;                /* a field of it is */
    bool whole;                    /* all of the request is there */
    bool runnable;                 /* to be run at the end of this input */
    bool begun;                    /* runnable or run before: only once */
    bool parked;                   /* the exchange is */
    bool waiting;                  /* for the client */
    bool replied;                  /* the reply's head is with the library */
    size_t dropped;                /* of a body that is not wanted */
    size_t sent;                   /* of a reply that is no stream */
    size_t held;                   /* bytes of that */
    char status[24];
    char length[24];
};

enum {
    FLOOD_BURST = 1000,     /* idle frames at once */
    FLOOD_PER_SECOND = 100, /* and again after a while */
    FLOOD_EARNED = 2        /* by each frame that carries a reply */
};

/* How many idle frames a client may send. Frames that bring no request nearer
 * to its reply (PING, SETTINGS, resets, unknown types, DATA that is empty or
 * only padding) cost little each and are needed now and then; thousands of them
 * are an attack. Only http2_connection.c reads the members. */
struct http2_flood {
    uint32_t left;
    uint64_t since_ns;
};

struct http2_connection {
    struct socket_io io; /* first: it is the source */
    struct connection accepted;
    struct http2 *http2;
    nghttp2_session *session; /* NULL: GOAWAY has ended it */
    struct http2_flood flood;
    bool flooded;     /* the client exceeded http2_flood */
    bool starved;     /* the library had no memory to send; it would now free a
                       * frame twice, so what the session holds is left */
    bool dirty;       /* in the list of struct http2 */
    bool heard;       /* something came in, and nothing was sent since */
    size_t open;      /* streams */
    size_t parked;    /* of these */
    size_t head_size; /* of the head that is coming in, as RFC 9113 section
                       * 6.5.2 counts it */
    size_t held;      /* by all streams */
    size_t drained;
    uint64_t deadline_ns;
    struct http2_streams streams;
    struct http2_streams runnable; /* to be run */
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
    struct http2_connections connections; /* by their deadlines */
    struct http2_streams waiting;         /* likewise */
    struct http2_streams heads;  /* not complete, by request_deadline_ns */
    struct http2_streams bodies; /* likewise */
    struct http2_streams left;   /* of requests that are answered, likewise */
    struct http2_dirty dirty;    /* connections that something happened to */
    uint64_t now_ns;             /* of this turn */
    struct kx_buffer output;     /* of the connection in hand */
    int64_t date_second;
    char date[HTTPDATE_MAX];
    uint8_t input[HTTP2_INPUT];
};

#endif
