/* The calls to nghttp2, and the header fields of replies. */
#ifndef API_HTTP2_SESSION_H
#define API_HTTP2_SESSION_H

#include "http2/http2_state.h"

/* Creates the connection's session and its first SETTINGS frame. False if
 * memory ran out. */
bool http2_session_open(struct http2_connection *connection);
/* Ends the session. It must have no streams. */
void http2_session_close(struct http2_connection *connection);
/* Marks the connection so that this turn of the loop handles it before it ends.
 */
void http2_session_mark(struct http2_connection *connection);
/* Processes input; streams whose requests are complete become runnable. Returns
 * HTTP2_NO_ERROR, or why the connection must be closed. */
enum http2_error http2_session_take(struct http2_connection *connection,
                                    const uint8_t *data, size_t size);
/* Appends pending output to out, at most HTTP2_OUTPUT bytes plus a frame. False
 * if the connection must be closed because memory ran out. */
bool http2_session_give(struct http2_connection *connection,
                        struct kx_buffer *out);
/* True if nothing is left to send or to expect. */
bool http2_session_ended(const struct http2_connection *connection);
/* Returns the last stream that was or may have been processed, for GOAWAY. */
int32_t http2_session_last(const struct http2_connection *connection);
/* Refuses further streams and tells the client so. */
void http2_session_stop(struct http2_connection *connection);

/* Submits the stream's reply to the library. */
void http2_session_reply(struct http2_stream *stream);
/* Lets the library read the remainder of a reply that was not available before.
 */
void http2_session_resume(struct http2_stream *stream);
/* Tells the client to send the body (100 Continue). */
void http2_session_continue(struct http2_stream *stream);
/* Resets a stream with this error. */
void http2_session_reset(struct http2_stream *stream, enum http2_error why);
/* Detaches the stream from the library, which then makes no more callbacks for
 * it. */
void http2_session_forget(struct http2_stream *stream);

#endif
