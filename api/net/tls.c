/* TLS by GnuTLS on a non-blocking socket. The library reads one record at a
 * time and no byte beyond it, so it holds at most the remainder of the current
 * record. tls_recv() reads until the socket is empty or the buffer is full,
 * because an event loop may learn of these bytes only once. */
#include "net/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "kindex.h"

enum {
    IDLE_RECORDS_MAX = 64 /* consecutive records without data: key updates,
                           * alerts */
};

struct tls {
    gnutls_session_t session;
    struct tls_keys *keys;
    int fd;
    bool empty;  /* the last read found the socket empty */
    bool held;   /* the library holds an unsent record */
    bool ended;  /* the client has ended its data, or the input failed */
    bool broken; /* nothing is received or sent any longer */
};

/* The library's read. It uses read(2), because mhd_socket.h wraps recv(2). */
static ssize_t pull(gnutls_transport_ptr_t closure, void *buffer, size_t size)
{
    struct tls *tls = closure;
    ssize_t got;
    do
        got = read(tls->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    tls->empty = got < 0 && errno == EAGAIN;
    return got;
}

static int free_tls(struct tls *tls)
{
    if (tls->session != NULL)
        gnutls_deinit(tls->session);
    tls_keys_drop(tls->keys);
    return 0;
}

/* Offers the protocols for ALPN. The handshake fails if the client names only
 * others; a client that sends no ALPN gets HTTP/1.1. */
static bool offer(gnutls_session_t session)
{
    static const gnutls_datum_t PROTOCOLS[] = {
        {(unsigned char *)"h2", 2}, {(unsigned char *)"http/1.1", 8}};
    return gnutls_alpn_set_protocols(session, PROTOCOLS, 2,
                                     GNUTLS_ALPN_MANDATORY |
                                         GNUTLS_ALPN_SERVER_PRECEDENCE) == 0;
}

/* Session tickets are off: a resumed session would keep a client accepted after
 * the certificate or the client authority has been replaced. */
struct tls *tls_open(struct tls_keyring *ring, int fd)
{
    struct tls *tls = talloc_zero(NULL, struct tls);
    if (tls == NULL)
        return NULL;
    tls->fd = fd;
    tls->keys = tls_keys_take(ring);
    talloc_set_destructor(tls, free_tls);
    if (gnutls_init(&tls->session, GNUTLS_SERVER | GNUTLS_NONBLOCK |
                                       GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) ==
            0 &&
        tls_keys_use(tls->keys, tls->session) && offer(tls->session)) {
        gnutls_transport_set_ptr2(tls->session, tls,
                                  (gnutls_transport_ptr_t)(intptr_t)fd);
        gnutls_transport_set_pull_function(tls->session, pull);
        return tls;
    }
    talloc_free(tls);
    return NULL;
}

void tls_close(struct tls *tls)
{
    talloc_free(tls);
}

/* ---- Handshake ---------------------------------------------------------- */

enum tls_step tls_handshake(struct tls *tls)
{
    int result = GNUTLS_E_AGAIN;
    for (int i = 0; i < IDLE_RECORDS_MAX; i++) {
        result = gnutls_handshake(tls->session);
        if (result == 0)
            return TLS_THROUGH;
        if (gnutls_error_is_fatal(result) != 0)
            break;
        if (gnutls_record_get_direction(tls->session) == 1)
            return TLS_WANTS_ROOM;
        if (tls->empty)
            return TLS_WANTS_INPUT;
    }
    gnutls_alert_send_appropriate(tls->session, result);
    kx_log(KX_LOG_DEBUG, "tls-handshake-failed", "why=\"%s\"",
           gnutls_strerror(result));
    tls->broken = true;
    return TLS_BROKEN;
}

bool tls_is_http2(const struct tls *tls)
{
    gnutls_datum_t chosen;
    return gnutls_alpn_get_selected_protocol(tls->session, &chosen) == 0 &&
           chosen.size == 2 && memcmp(chosen.data, "h2", 2) == 0;
}

/* ---- Input -------------------------------------------------------------- */

/* Receives bytes of one record. Returns 0 at the end of input, GNUTLS_E_AGAIN
 * if the socket is empty. */
static ssize_t take_record(struct tls *tls, void *buffer, size_t size)
{
    for (int i = 0; i < IDLE_RECORDS_MAX; i++) {
        ssize_t got = gnutls_record_recv(tls->session, buffer, size);
        bool idle = got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED;
        if (!idle || tls->empty)
            return idle ? GNUTLS_E_AGAIN : got;
    }
    return GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS;
}

static ssize_t reset(struct tls *tls)
{
    tls->broken = true;
    errno = ECONNRESET;
    return -1;
}

/* Receives while the buffer has room for at least `least` bytes and the socket
 * is not empty. */
static ssize_t receive(struct tls *tls, void *buffer, size_t size, size_t least)
{
    size_t total = 0;
    ssize_t got = 1;
    tls->empty = false;
    while (size - total >= least && got > 0 && !tls->broken) {
        got = take_record(tls, (char *)buffer + total, size - total);
        total += got > 0 ? (size_t)got : 0;
    }
    tls->ended |= got <= 0 && got != GNUTLS_E_AGAIN;
    if (total > 0 || got == 0)
        return (ssize_t)total;
    if (tls->broken || got != GNUTLS_E_AGAIN)
        return reset(tls);
    errno = EAGAIN;
    return -1;
}

bool tls_ended(const struct tls *tls)
{
    return tls->ended;
}

ssize_t tls_recv(struct tls *tls, void *buffer, size_t size)
{
    return receive(tls, buffer, size, 1);
}

ssize_t tls_recv_records(struct tls *tls, void *buffer, size_t size)
{
    return receive(tls, buffer, size, TLS_RECORD_MAX);
}

/* ---- Output ------------------------------------------------------------- */

/* Copies what follows the first `skip` bytes of the parts, so that one record
 * carries several parts. Returns the size, at most TLS_RECORD_MAX. */
static size_t gather(const struct iovec *parts, size_t count, size_t skip,
                     uint8_t *out)
{
    size_t size = 0;
    for (size_t i = 0; i < count && size < TLS_RECORD_MAX; i++) {
        size_t from = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        size_t some = parts[i].iov_len - from;
        skip -= from;
        if (some > TLS_RECORD_MAX - size)
            some = TLS_RECORD_MAX - size;
        if (some > 0)
            memcpy(out + size, (const uint8_t *)parts[i].iov_base + from, some);
        size += some;
    }
    return size;
}

/* Sends one record. If the library still holds an unsent record, sends its
 * remainder instead and returns its size; data must then be the same bytes as
 * before. */
static ssize_t send_record(struct tls *tls, const uint8_t *data, size_t size)
{
    ssize_t sent;
    do
        sent = tls->held ? gnutls_record_send(tls->session, NULL, 0)
                         : gnutls_record_send(tls->session, data, size);
    while (sent == GNUTLS_E_INTERRUPTED);
    tls->held = sent == GNUTLS_E_AGAIN;
    if (sent > (ssize_t)size)
        return GNUTLS_E_INTERNAL_ERROR; /* not the bytes that the library holds
                                         */
    return sent;
}

ssize_t tls_send(struct tls *tls, const struct iovec *parts, size_t count)
{
    uint8_t record[TLS_RECORD_MAX];
    size_t total = 0;
    size_t size;
    ssize_t sent = 0;
    while (!tls->broken && (size = gather(parts, count, total, record)) > 0) {
        sent = send_record(tls, record, size);
        if (sent < 0)
            break;
        total += (size_t)sent;
    }
    if (tls->broken || (sent < 0 && sent != GNUTLS_E_AGAIN))
        return reset(tls);
    if (total > 0 || sent == 0)
        return (ssize_t)total;
    errno = EAGAIN;
    return -1;
}

void tls_finish(struct tls *tls)
{
    if (!tls->broken)
        gnutls_bye(tls->session, GNUTLS_SHUT_WR);
}
