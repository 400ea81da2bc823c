/* What the files of the room share: the connections of one event loop and their
 * streams. http2_session.c asks nghttp2, http2.c is told by it; http2_stream.c
 * makes exchanges of streams, http2_reply.c fields of replies;
 * http2_connection.c moves bytes and keeps the deadlines. For http2*.c only;
 * all functions belong to the thread of the loop. */
#ifndef API_HTTP2_STATE_H
#define API_HTTP2_STATE_H

#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "exchange/exchange.h"
#include "http2/http2.h"
#include "http2/http2_flood.h"
#include "http2/http2_head.h"
#include "http2/http2_message.h"
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

/* ---- http2_session.c ---------------------------------------------------- */

/* Makes the connection's session; the first settings are ready to be sent.
 * False when memory ran out. */
bool http2_session_open(struct http2_connection *connection);
/* Ends the session, which has no streams any longer. */
void http2_session_close(struct http2_connection *connection);
/* Something happened to the connection: it is looked at before the turn
 * ends. */
void http2_session_mark(struct http2_connection *connection);
/* Takes input; streams that can be run become runnable. HTTP2_NO_ERROR, or why
 * the connection must be closed. */
enum http2_error http2_session_take(struct http2_connection *connection,
                                    const uint8_t *data, size_t size);
/* Appends what there is to send to out, up to HTTP2_OUTPUT bytes or a frame
 * more; false when the connection must be closed (no memory). */
bool http2_session_give(struct http2_connection *connection,
                        struct kx_buffer *out);
/* Is nothing left to send nor to be expected? */
bool http2_session_ended(const struct http2_connection *connection);
/* The last stream that was or may be acted upon, for GOAWAY. */
int32_t http2_session_last(const struct http2_connection *connection);
/* Takes no further streams; tells the client. */
void http2_session_stop(struct http2_connection *connection);

/* Hands the stream's reply over. */
void http2_session_reply(struct http2_stream *stream);
/* The remainder of a reply that was held back may be read again. */
void http2_session_resume(struct http2_stream *stream);
/* Tells the client to send the body (100 Continue). */
void http2_session_continue(struct http2_stream *stream);
/* Breaks a stream off. */
void http2_session_reset(struct http2_stream *stream, enum http2_error why);
/* The library tells nothing more about the stream. */
void http2_session_forget(struct http2_stream *stream);

/* ---- http2_stream.c ----------------------------------------------------- */

/* A stream that has begun; NULL when memory ran out. */
struct http2_stream *http2_stream_begin(struct http2_connection *connection,
                                        int32_t id);
/* Takes a field of the head, or of the trailers. */
void http2_stream_field(struct http2_stream *stream, struct kx_slice name,
                        struct kx_slice value);
/* The head is complete: admits or refuses the request. A refused request
 * becomes runnable. False: the stream was reset, because the head is malformed
 * or there is no place for it. */
bool http2_stream_open(struct http2_stream *stream);
/* Takes some of the body, or resets the stream if that is malformed. */
void http2_stream_body(struct http2_stream *stream, const uint8_t *data,
                       size_t size);
/* The request is complete: it becomes runnable, or is reset if it is
 * malformed. */
void http2_stream_end(struct http2_stream *stream);
/* Resets the stream and closes it here at once. */
void http2_stream_drop(struct http2_stream *stream, enum http2_error why);
/* Runs the runnable streams, for a millisecond and as long as the client
 * takes the replies; the others when the connection is looked at again. */
void http2_stream_run_all(struct http2_connection *connection);
/* Copies up to size bytes of the reply's body; CHUNK_END comes with the last of
 * them, or alone. */
enum exchange_chunk http2_stream_read(struct http2_stream *stream, void *out,
                                      size_t size, size_t *copied_out);
/* Its body has not come in time: answers 408, and breaks the stream off when
 * that did not help. */
void http2_stream_timeout(struct http2_stream *stream);
/* Its reply was sent to the end. */
void http2_stream_sent(struct http2_stream *stream);
/* Bytes of the stream were moved: its deadline starts again. */
void http2_stream_touch(struct http2_stream *stream);
/* The stream has ended, with or without an error. */
void http2_stream_close(struct http2_stream *stream);

/* ---- http2_reply.c ------------------------------------------------------ */

/* The head of the stream's reply, with ":status" as the first field; fields has
 * room for HTTP2_FIELDS_MAX. Returns their number. What they point to lives as
 * long as the stream, or until the next call. */
size_t http2_reply_fields(struct http2_stream *stream, struct header *fields);
/* Has the reply a body to be sent? */
bool http2_reply_has_body(const struct http2_stream *stream);

#endif
