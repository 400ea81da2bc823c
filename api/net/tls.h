/* TLS: the server's certificate and key, the authorities of client certificates
 * and their lists of revoked ones, read from files and reloaded on request; and
 * the connections that use them.
 *
 * TLS of one connection, for HTTP/1.1 and HTTP/2, which call it in place of the
 * socket's functions. The caller owns the non-blocking socket, but must not
 * read or write it before tls_close. These functions belong to the connection's
 * thread; those of the ring to any thread. */
#ifndef API_TLS_H
#define API_TLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "config/options.h"
#include "identity/certificate.h"

struct tls;
struct tls_keyring;

/* Reads the files that options name (tls_cert, tls_key, tls_client_ca,
 * tls_client_crl); options must outlive the ring. If they cannot be used,
 * returns NULL and writes the reason to why_out (`size` bytes). */
struct tls_keyring *tls_keyring_open(const struct options *options,
                                     char *why_out, size_t size);
/* Reads the files again and logs the result. If they cannot be used, the
 * previous keys stay. Certificates of connected clients that the new files do
 * not accept become `revoked`. */
void tls_keyring_reload(struct tls_keyring *ring);
/* Frees the ring, after its last connection. NULL is allowed. */
void tls_keyring_close(struct tls_keyring *ring);

enum tls_step { TLS_THROUGH, TLS_WANTS_INPUT, TLS_WANTS_ROOM, TLS_BROKEN };

/* Creates the server's side of a connection on socket fd, with the current keys
 * of the ring. NULL if memory ran out. Free it with tls_close. */
struct tls *tls_open(struct tls_keyring *ring, int fd);
/* Frees the TLS without sending anything. NULL is allowed. */
void tls_close(struct tls *tls);

/* Continues the handshake as far as possible without blocking. On TLS_BROKEN an
 * alert with the reason was sent, if the socket had room for it. */
enum tls_step tls_handshake(struct tls *tls);
/* Returns a new reference to the client's certificate; NULL if it sent none, or
 * tls is NULL. Call it after the handshake. */
struct client_certificate *tls_certificate(const struct tls *tls);
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
