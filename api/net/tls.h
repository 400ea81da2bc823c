/* TLS of one connection, whichever door it leads to: what the doors do with a
 * socket, they do with this instead. The socket stays its owner's, is
 * non-blocking, and is read and written by nobody else meanwhile. All functions
 * belong to the thread that has the connection. */
#ifndef API_TLS_H
#define API_TLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "net/tls_keys.h"

struct tls;

enum tls_step { TLS_THROUGH, TLS_WANTS_INPUT, TLS_WANTS_ROOM, TLS_BROKEN };

/* The server's side of a connection with the keys of now; NULL when memory ran
 * out. */
struct tls *tls_open(struct tls_keyring *ring, int fd);
/* Forgets it without a word. NULL is allowed. */
void tls_close(struct tls *tls);

/* Goes on with the handshake as far as it can without waiting. When it is
 * broken the client has been told why, if the socket had room. */
enum tls_step tls_handshake(struct tls *tls);
/* After the handshake: is HTTP/2 what was agreed upon (ALPN)? */
bool tls_is_http2(const struct tls *tls);

/* As recv(2) and sendmsg(2) do: -1 with errno EAGAIN or ECONNRESET, 0 when the
 * client has said that no more comes.
 *
 * Fewer bytes than asked for mean, as with a socket, that the socket is empty,
 * or full: its next readiness is yet to come. What could not be sent must be
 * sent again before anything else, as with a socket that took none of it. */
ssize_t tls_recv(struct tls *tls, void *buffer, size_t size);
/* As tls_recv, but leaves nothing behind that a socket which is ready as long
 * as it has bytes would not tell of; size is at least TLS_RECORD_MAX. */
ssize_t tls_recv_records(struct tls *tls, void *buffer, size_t size);
ssize_t tls_send(struct tls *tls, const struct iovec *parts, size_t count);

/* Tells the client that no more comes. */
void tls_finish(struct tls *tls);

enum { TLS_RECORD_MAX = 16 * 1024 }; /* bytes that come or go in one piece */

#endif
