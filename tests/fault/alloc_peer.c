/* Connections of the client: see alloc_peer.h. */
#include "alloc_peer.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static bool with_tls;
static gnutls_certificate_credentials_t credentials;
static gnutls_session_t session; /* NULL: the connection is plain */
static int fd = -1;
static char input[1 << 19];
static size_t input_size;

void peer_use_tls(void)
{
    with_tls = true;
    gnutls_certificate_allocate_credentials(&credentials);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_fd >= 0 && connect(socket_fd, (const struct sockaddr *)&address,
                                  sizeof address) == 0)
        return socket_fd;
    perror("connect");
    exit(1);
}

static bool shake_hands(bool http2)
{
    const gnutls_datum_t protocol = {
        (unsigned char *)(http2 ? "h2" : "http/1.1"), http2 ? 2 : 8};
    int result = 0;
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_alpn_set_protocols(session, &protocol, 1, 0);
    gnutls_handshake_set_timeout(session, PATIENCE_MS);
    gnutls_transport_set_int(session, fd);
    do
        result = gnutls_handshake(session);
    while (result < 0 && !gnutls_error_is_fatal(result));
    return result == 0;
}

bool peer_open(uint16_t port, bool http2)
{
    fd = connect_to(port);
    input_size = 0;
    return !with_tls || shake_hands(http2);
}

void peer_close(void)
{
    if (session != NULL)
        gnutls_deinit(session);
    session = NULL;
    close(fd);
}

bool peer_say(const void *bytes, size_t size)
{
    ssize_t sent = session == NULL ? write(fd, bytes, size)
                                   : gnutls_record_send(session, bytes, size);
    return sent == (ssize_t)size;
}

static ssize_t receive(void)
{
    char *to = input + input_size;
    size_t room = sizeof input - 1 - input_size;
    ssize_t got;
    if (session == NULL)
        return read(fd, to, room);
    do
        got = gnutls_record_recv(session, to, room);
    while (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED);
    return got;
}

bool peer_hear(bool *late_out)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    bool held = session != NULL && gnutls_record_check_pending(session) > 0;
    if (!held && poll(&readable, 1, PATIENCE_MS) <= 0) {
        *late_out = true;
        return false;
    }
    ssize_t got = receive();
    if (got <= 0)
        return false;
    input_size += (size_t)got;
    return true;
}

const char *peer_heard(size_t *size_out)
{
    input[input_size] = '\0';
    *size_out = input_size;
    return input;
}
