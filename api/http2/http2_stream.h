/* From a stream of HTTP/2 to an exchange, and back. */
#ifndef API_HTTP2_STREAM_H
#define API_HTTP2_STREAM_H

#include "http2/http2_state.h"

/* Creates the stream that a request has begun; NULL if memory ran out. */
struct http2_stream *http2_stream_begin(struct http2_connection *connection,
                                        int32_t id);
/* Adds a field of the head, or checks a field of the trailers. */
void http2_stream_field(struct http2_stream *stream, struct kx_slice name,
                        struct kx_slice value);
/* Admits or refuses the request, whose head is complete. A refused request
 * becomes runnable. Returns false if the stream was reset because its head is
 * malformed or too many requests are open. */
bool http2_stream_open(struct http2_stream *stream);
/* Adds a part of the body, or resets the stream if the body is malformed. */
void http2_stream_body(struct http2_stream *stream, const uint8_t *data,
                       size_t size);
/* Makes the stream runnable, because its request is complete, or resets it if
 * the request is malformed. */
void http2_stream_end(struct http2_stream *stream);
/* Resets the stream with this error and closes it at once. */
void http2_stream_drop(struct http2_stream *stream, enum http2_error why);
/* Runs runnable streams for at most a millisecond, and only while the client
 * reads the replies. The other streams run when the connection is handled
 * again. */
void http2_stream_run_all(struct http2_connection *connection);
/* Copies at most size bytes of the reply's body. Returns CHUNK_END with the
 * last bytes, or without bytes after them. */
enum exchange_chunk http2_stream_read(struct http2_stream *stream, void *out,
                                      size_t size, size_t *copied_out);
/* Answers 408, because the body has not arrived in time; resets the stream if
 * it has already been answered. */
void http2_stream_timeout(struct http2_stream *stream);
/* Notes that the whole reply was sent. */
void http2_stream_sent(struct http2_stream *stream);
/* Restarts the stream's deadline, because some of its bytes were moved. */
void http2_stream_touch(struct http2_stream *stream);
/* Closes a stream that has ended, with or without an error. */
void http2_stream_close(struct http2_stream *stream);

#endif
