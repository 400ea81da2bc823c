/* Stands between the HTTP library and its sockets: the linker (--wrap) replaces
 * every recv(), send(), sendmsg(), shutdown() and close() of the program by the
 * functions below. framing.h checks what arrives on a registered socket first,
 * so that the library gets only requests whose end is beyond doubt. This module
 * answers the other requests itself, after the answers to the valid requests
 * before them, and also requests that take too long to arrive. It encrypts and
 * decrypts TLS, which the library does not know. */
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

/* Creates the table of sockets, with room for as many as the process may open
 * now (RLIMIT_NOFILE), and copies limits. Call it once per process, before the
 * first connection. False if memory ran out. */
bool mhd_socket_start(const struct mhd_socket_limits *limits);
/* Frees the table. No socket may be registered. */
void mhd_socket_stop(void);

/* Takes over a connection and registers its socket. Call it before the library
 * gets the socket. Returns false if memory ran out or fd is beyond the table;
 * the caller then still owns the connection. */
bool mhd_socket_open(const struct connection *connection);
/* Unregisters the socket and gives the connection back, with its TLS. Call it
 * while the socket is open, because its number may be reused once it is closed.
 * False if the socket is not registered, or was transferred. */
bool mhd_socket_close(int fd, struct connection *connection_out);

/* Returns the connection, or NULL if the socket is not registered. */
const struct connection *mhd_socket_connection(int fd);
/* Returns how many bytes were sent on the socket. */
uint64_t mhd_socket_sent(int fd);
/* Adds header lines and the blank line after them, each with its CR LF, to the
 * head that the library sends next on the socket. Call it before the library
 * has a reply to send. The lines must live until the head is sent or the socket
 * is closed. */
void mhd_socket_add_lines(int fd, struct kx_slice lines);
/* Ends a socket whose client stalls while others need the memory it holds: an
 * incomplete request is answered 408, a reply breaks off. The library then
 * closes the socket. */
void mhd_socket_cut(int fd);

/* Transfers the socket when the library closes it; the caller must make the
 * library close it. Instead of being closed, the socket is unregistered and
 * passed to `take` with its connection. */
typedef void http1_take_fn(void *receiver, const struct connection *connection);
void mhd_socket_transfer(int fd, http1_take_fn *take, void *receiver);

/* Notes that the library has sent the whole answer to a request. Call it for
 * every request: a faulty request that arrived together with valid ones is due
 * once these are answered, and the library, which waits for more input, would
 * not call again. */
void mhd_socket_answered(int fd);
/* Answers the faulty requests that are due and the requests whose deadline has
 * expired, except on sockets that the library has closed. Call it after each
 * run of the library, on the thread that ran it. */
void mhd_socket_handle_due(void);
/* Milliseconds after which mhd_socket_handle_due must be called anyway; -1:
 * none. */
int mhd_socket_timeout_ms(void);

/* Replaces recv(2). Unregistered sockets and calls with MSG_PEEK pass straight
 * through. After a fault it sends the answer, ends our side of the connection
 * and discards further input (errno is EAGAIN meanwhile), so that no reset
 * destroys the answer. It reports ECONNRESET when the client has closed its
 * side or has sent more than MHD_SOCKET_DRAIN_MAX bytes. Called on the thread
 * that owns the socket. */
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);
/* Replace send(2), sendmsg(2) and shutdown(2). They use the TLS of a registered
 * socket if it has one, and send the lines of mhd_socket_add_lines in place of
 * the blank line that ends the library's head. Called on the thread that owns
 * the socket. */
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_shutdown(int fd, int how);
/* Replaces close(2). If the library closes a registered socket because it could
 * not take the connection, the socket is unregistered first and its connection
 * ended. A transferred socket changes its owner here and is neither closed nor
 * shut down. */
int __wrap_close(int fd);

enum { MHD_SOCKET_DRAIN_MAX = 1 << 24 };

#endif
