/* From a stream of HTTP/2 to an exchange, and back. */
#ifndef API_HTTP2_STREAM_H
#define API_HTTP2_STREAM_H

#include "http2/http2_state.h"

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

#endif
