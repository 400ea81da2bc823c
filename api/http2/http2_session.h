/* What the room asks of nghttp2, and the fields of replies. */
#ifndef API_HTTP2_SESSION_H
#define API_HTTP2_SESSION_H

#include "http2/http2_state.h"

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

/* The head of the stream's reply, with ":status" as the first field; fields has
 * room for HTTP2_FIELDS_MAX. Returns their number. What they point to lives as
 * long as the stream, or until the next call. */
size_t http2_reply_fields(struct http2_stream *stream, struct header *fields);
/* Has the reply a body to be sent? */
bool http2_reply_has_body(const struct http2_stream *stream);

#endif
