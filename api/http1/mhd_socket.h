/* Stands between the HTTP library and its sockets: the linker sends every
 * recv(), send(), sendmsg(), shutdown() and close() of the program (--wrap)
 * through here. What arrives on a registered socket is checked by framing.h
 * first, so that the library gets only requests whose end is beyond doubt. The
 * others are answered from here, after the answers to the valid requests before
 * them. Requests that take too long to arrive are answered from here, too. The
 * library does not know of TLS: what it sends and receives goes through that,
 * too. */
#ifndef API_MHD_SOCKET_H
#define API_MHD_SOCKET_H

#include <sys/types.h>

#include "http1/framing.h"
#include "net/connection.h"

struct mhd_socket_limits {
    struct framing_limits framing;
    uint64_t header_timeout_ms;
    uint64_t body_timeout_ms;
};

/* Before the first connection: makes the table of sockets, with room for as
 * many as the process may open now (RLIMIT_NOFILE), and takes a copy of limits.
 * False when memory ran out. Once per process, from one thread. */
bool mhd_socket_start(const struct mhd_socket_limits *limits);
/* Frees the table; no socket is open any more. */
void mhd_socket_stop(void);

/* Takes over a connection and registers its socket, before the library gets it.
 * False when memory ran out or fd is past the table: the connection is still
 * the caller's then. */
bool mhd_socket_open(const struct connection *connection);
/* Forgets the socket, while it is still open (its number may be reused at once
 * after that), and gives the connection back, with its TLS. False when it is
 * not registered, or was transferred. */
bool mhd_socket_close(int fd, struct connection *connection_out);

/* The client address that the connection is counted for; NULL when the socket
 * is not registered. */
struct client_usage *mhd_socket_client(int fd);
/* How many bytes it has taken. */
uint64_t mhd_socket_sent(int fd);
/* Its client stalls while others need what it holds: a request that is
 * incomplete is answered 408, a reply breaks off. The library closes it
 * next. */
void mhd_socket_cut(int fd);

/* Gives the socket to another owner when the library closes it, which the
 * caller must bring about: instead of being closed the socket is passed to
 * take, with its connection, and is no longer registered. */
typedef void http1_take_fn(void *receiver, const struct connection *connection);
void mhd_socket_transfer(int fd, http1_take_fn *take, void *receiver);

/* The library has sent the whole answer to a request. Must be called for every
 * request: a faulty one that came in one piece with valid ones is due when
 * these are answered, and the library, which waits for more input, would not
 * call again. */
void mhd_socket_answered(int fd);
/* After each run of the library, on the thread that ran it: answers the faulty
 * requests that are due, except where the library has closed the socket, and
 * those whose deadline has expired. */
void mhd_socket_settle(void);
/* Milliseconds after which mhd_socket_settle must be called anyway; -1:
 * none. */
int mhd_socket_timeout_ms(void);

/* In place of recv(2). Sockets that are not registered and calls with MSG_PEEK
 * pass straight through. After a violation: sends the answer, ends our side of
 * the connection, throws away what still arrives (the errno is EAGAIN
 * meanwhile) so that the answer is not lost to a reset, and reports ECONNRESET
 * when the client has closed its side or has sent more than
 * MHD_SOCKET_DRAIN_MAX bytes. Called on the thread that owns the socket. */
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);
/* In place of send(2), sendmsg(2) and shutdown(2): through the TLS of a
 * registered socket that has one. Called on the thread that owns the socket. */
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_shutdown(int fd, int how);
/* In place of close(2): a registered socket that the library closes by itself,
 * because it could not take the connection, is forgotten first, and its
 * connection ended. A transferred socket changes its owner here, and is neither
 * closed nor shut down. */
int __wrap_close(int fd);

enum { MHD_SOCKET_DRAIN_MAX = 1 << 24 };

#endif
