/* Writes an HTTP/1.1 answer straight to the socket of a connection that neither
 * HTTP/1.1 nor HTTP/2 serves. */
#include "net/reject.h"

#include <stdio.h>
#include <sys/socket.h>

#include "exchange/request_log.h"

/* First reads the bytes that the client has already sent, at most the size of
 * `drain`: with unread bytes close() would reset the connection, and the client
 * might lose the answer. */
void dismiss(const struct connection *connection, enum problem_code code,
             const char *detail)
{
    int fd = connection->fd;
    const struct problem_row *row = problem_row(code);
    char head[256];
    char id[TRACE_NEW_ID_SIZE];
    char drain[4096];
    struct kx_buffer body;
    kx_buffer_init(&body, NULL);
    problem_write(&body, code, detail);
    request_log_refusal(connection->service, row->status, id);
    int size = snprintf(
        head, sizeof head,
        "HTTP/1.1 %d %s\r\n"
        "Content-Type: application/problem+json\r\n"
        "X-Request-Id: %s\r\n"
        "%s%s%sConnection: close\r\n"
        "Content-Length: %zu\r\n\r\n",
        row->status, row->status == 503 ? "Service Unavailable" : "Bad Request",
        id, row->retry_after != NULL ? "Retry-After: " : "",
        row->retry_after != NULL ? row->retry_after : "",
        row->retry_after != NULL ? "\r\n" : "", body.size);
    send(fd, head, (size_t)size, MSG_NOSIGNAL | MSG_MORE);
    send(fd, body.data, body.size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    recvfrom(fd, drain, sizeof drain, MSG_DONTWAIT, NULL, NULL);
    kx_buffer_free(&body);
}
