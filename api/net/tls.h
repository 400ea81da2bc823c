/* TLS of one connection, for HTTP/1.1 and HTTP/2, which call it in place of the
 * socket's functions. The caller owns the non-blocking socket, but must not
 * read or write it before tls_close. All functions belong to the connection's
 * thread. */
#ifndef API_TLS_H
#define API_TLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "net/tls_keys.h"

struct tls;

enum tls_step { TLS_THROUGH, TLS_WANTS_INPUT, TLS_WANTS_ROOM, TLS_BROKEN };

/* Creates the server's side of a connection on socket fd, with the current keys
 * of the ring. NULL if memory ran out. Free it with tls_close. */
struct tls *tls_open(struct tls_keyring *ring, int fd);
/* Frees the TLS without sending anything. NULL is allowed. */
void tls_close(struct tls *tls);

/* Continues the handshake as far as possible without blocking. On TLS_BROKEN an
 * alert with the reason was sent, if the socket had room for it. */
enum tls_step tls_handshake(struct tls *tls);
/* True if ALPN selected HTTP/2. Call it after the handshake. */
bool tls_is_http2(const struct tls *tls);

/* Receive and send like recv(2) and sendmsg(2): return the number of bytes, -1
 * with errno EAGAIN or ECONNRESET, or 0 if the client has announced the end of
 * its data.
 *
 * If fewer bytes than asked for were moved, the socket is empty or full, and
 * epoll will report it again. Unsent bytes must be passed again before any
 * others. */
ssize_t tls_recv(struct tls *tls, void *buffer, size_t size);
/* Receives like tls_recv, but only whole records: a level-triggered epoll would
 * not report bytes that stay inside the library. size must be at least
 * TLS_RECORD_MAX. */
ssize_t tls_recv_records(struct tls *tls, void *buffer, size_t size);
/* True if tls_recv_records has reached the end of the client's data, possibly
 * together with its last bytes. */
bool tls_ended(const struct tls *tls);
ssize_t tls_send(struct tls *tls, const struct iovec *parts, size_t count);

/* Tells the client that no further data follows (close_notify). */
void tls_finish(struct tls *tls);

enum { TLS_RECORD_MAX = 16 * 1024 }; /* bytes of data in one record */

#endif
