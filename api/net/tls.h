/* TLS of one connection, for HTTP/1.1 and HTTP/2, which call it in place of the
 * socket's functions. The socket is non-blocking and stays its owner's; only
 * this module reads and writes it until tls_close. All functions belong to the
 * thread that has the connection. */
#ifndef API_TLS_H
#define API_TLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "net/tls_keys.h"

struct tls;

enum tls_step { TLS_THROUGH, TLS_WANTS_INPUT, TLS_WANTS_ROOM, TLS_BROKEN };

/* Makes the server's side of a connection with the current keys. NULL when
 * memory ran out. */
struct tls *tls_open(struct tls_keyring *ring, int fd);
/* Frees it and sends nothing. NULL is allowed. */
void tls_close(struct tls *tls);

/* Continues the handshake as far as it can without waiting. TLS_BROKEN: an
 * alert with the reason was sent, if the socket had room for it. */
enum tls_step tls_handshake(struct tls *tls);
/* After the handshake: did ALPN select HTTP/2? */
bool tls_is_http2(const struct tls *tls);

/* Like recv(2) and sendmsg(2): -1 with errno EAGAIN or ECONNRESET; 0 when the
 * client has announced the end of its data.
 *
 * Fewer bytes than asked for mean that the socket is empty, or full, and that
 * epoll will report it again. Bytes that were not sent must be passed again
 * first, before any others. */
ssize_t tls_recv(struct tls *tls, void *buffer, size_t size);
/* Like tls_recv, but only takes whole records, so that no bytes stay inside the
 * library, of which a level-triggered epoll would not tell. size is at least
 * TLS_RECORD_MAX. */
ssize_t tls_recv_records(struct tls *tls, void *buffer, size_t size);
/* Has such a call reached the end of the client's data? It may have given bytes
 * before that, and need not be called again. */
bool tls_ended(const struct tls *tls);
ssize_t tls_send(struct tls *tls, const struct iovec *parts, size_t count);

/* Tells the client that no more data follows (close_notify). */
void tls_finish(struct tls *tls);

enum { TLS_RECORD_MAX = 16 * 1024 }; /* bytes of data in one record */

#endif
