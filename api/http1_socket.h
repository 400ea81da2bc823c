/* Stands between the HTTP library and its plain sockets: the linker sends
 * every recv() of the library (--wrap=recv) through here. What arrives on a
 * registered socket is checked by framing.h first, so that the library only
 * sees requests whose ends are beyond doubt. The others are answered from
 * here, after the answers to the good requests before them. */
#ifndef API_HTTP1_SOCKET_H
#define API_HTTP1_SOCKET_H

#include "framing.h"

#include <sys/types.h>

/* Before the first connection: makes the table of sockets, with room for as
 * many as the process may open now (RLIMIT_NOFILE), and takes a copy of limits.
 * False when memory ran out. Once per process, from one thread. */
bool http1_socket_start(const struct framing_limits *limits);
/* Frees the table; no socket is open any more. */
void http1_socket_stop(void);

/* Registers a connected, non-blocking socket, before the library gets it. False
 * when memory ran out or fd is past the table: refuse the connection then. */
bool http1_socket_open(int fd);
/* Forgets the socket, while it is still open (its number may be reused at once
 * after that). Nothing happens when it is not registered. */
void http1_socket_close(int fd);

/* The library has sent the whole answer to a request. Must be called for every
 * request: a bad one that came in one piece with good ones is due when these
 * are answered, and the library, which waits for more input, would not ask. */
void http1_socket_answered(int fd);
/* After each run of the library, on the thread that ran it: answers the bad
 * requests that are due, except where the library has closed the socket. */
void http1_socket_settle(void);

/* In place of recv(2). Sockets that are not registered and calls with MSG_PEEK
 * pass straight through. After a violation: sends the answer, ends our side of
 * the connection, throws away what still arrives (the errno is EAGAIN
 * meanwhile) so that the answer is not lost to a reset, and reports ECONNRESET
 * when the client has closed its side or has sent more than
 * HTTP1_SOCKET_DRAIN_MAX bytes. Called on the thread that owns the socket. */
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);

enum { HTTP1_SOCKET_DRAIN_MAX = 1 << 24 };

#endif
