/* One file because keys and connections are one subject: a connection keeps the
 * keys with which it began, and new keys decide again about the certificates of
 * the clients that are connected. A set of keys never changes; reloading the
 * files makes a new set, which replaces the previous set.
 *
 * The library reads one record at a time and no byte beyond it, so it holds at
 * most the remainder of the current record. tls_recv() reads until the socket
 * is empty or the buffer is full, because an event loop may learn of these
 * bytes only once. */
#include "net/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "kindex.h"

/* ---- Keys -----------------------------------------------------------------
 */

/* TLS 1.2 and 1.3, ephemeral key exchange and AEAD ciphers only. HTTP/2 allows
 * all of these (RFC 9113 section 9.2). */
static const char ALLOWED[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:"
    "+ECDHE-RSA:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-MAC-ALL:+AEAD:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:"
    "+GROUP-SECP384R1:+GROUP-SECP521R1:%SERVER_PRECEDENCE";

/* A client certificate must have the clientAuth key purpose: a server's
 * certificate is refused. */
static gnutls_typed_vdata_st CLIENT_PURPOSE = {
    .type = GNUTLS_DT_KEY_PURPOSE_OID,
    .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};

struct tls_keys {
    atomic_uint users;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t allowed;
    bool asks_client; /* requires a client certificate */
};

struct tls {
    gnutls_session_t session;
    struct tls_keyring *ring;
    struct tls_keys *keys;
    struct client_certificate *certificate; /* NULL: none, or not known yet */
    LIST_ENTRY(tls) sessions; /* of the ring, if there is a certificate */
    int fd;
    bool empty;  /* the last read found the socket empty */
    bool held;   /* the library holds an unsent record */
    bool ended;  /* the client has ended its data, or the input failed */
    bool broken; /* nothing is received or sent any longer */
};

LIST_HEAD(tls_sessions, tls);

struct tls_keyring {
    const struct options *options;
    pthread_mutex_t lock; /* guards what follows */
    struct tls_keys *keys;
    struct tls_sessions sessions; /* with a client certificate */
};

static int free_keys(struct tls_keys *keys)
{
    if (keys->credentials != NULL)
        gnutls_certificate_free_credentials(keys->credentials);
    if (keys->allowed != NULL)
        gnutls_priority_deinit(keys->allowed);
    return 0;
}

/* Drops a reference; the last one frees the keys. */
static void drop_tls_keys(struct tls_keys *keys)
{
    if (atomic_fetch_sub(&keys->users, 1) == 1)
        talloc_free(keys);
}

/* Checks that a file can be read, because the library's error would not name
 * the missing file. */
static bool readable(const char *option, const char *file, char *why_out,
                     size_t size)
{
    if (access(file, R_OK) == 0)
        return true;
    snprintf(why_out, size, "%s %s: %s", option, file, strerror(errno));
    return false;
}

/* True if `error` is a success; otherwise writes its text to why_out. */
static bool good(int error, const char *what, const char *file, char *why_out,
                 size_t size)
{
    if (error >= 0)
        return true;
    snprintf(why_out, size, "%s %s: %s", what, file, gnutls_strerror(error));
    return false;
}

/* Reads the lists of revoked certificates. */
static bool read_revoked(struct tls_keys *keys, const struct options *options,
                         char *why_out, size_t size)
{
    const char *file = options->tls_client_crl;
    if (file == NULL)
        return true;
    if (!readable("--tls-client-crl", file, why_out, size))
        return false;
    int error = gnutls_certificate_set_x509_crl_file(keys->credentials, file,
                                                     GNUTLS_X509_FMT_PEM);
    if (error == 0)
        error = GNUTLS_E_ASN1_VALUE_NOT_FOUND;
    return good(error, "--tls-client-crl", file, why_out, size);
}

/* Reads certificate, key and client authorities. The library checks that key
 * and certificate belong together. */
static bool read_files(struct tls_keys *keys, const struct options *options,
                       char *why_out, size_t size)
{
    if (!readable("--tls-cert", options->tls_cert, why_out, size) ||
        !readable("--tls-key", options->tls_key, why_out, size))
        return false;
    int error = gnutls_certificate_set_x509_key_file(
        keys->credentials, options->tls_cert, options->tls_key,
        GNUTLS_X509_FMT_PEM);
    if (!good(error, "--tls-cert", options->tls_cert, why_out, size))
        return false;
    if (options->tls_client_ca == NULL)
        return true;
    keys->asks_client = true;
    error = gnutls_certificate_set_x509_trust_file(
        keys->credentials, options->tls_client_ca, GNUTLS_X509_FMT_PEM);
    if (error == 0)
        error = GNUTLS_E_NO_CERTIFICATE_FOUND;
    return good(error, "--tls-client-ca", options->tls_client_ca, why_out,
                size) &&
           read_revoked(keys, options, why_out, size);
}

static struct tls_keys *read_keys(const struct options *options, char *why_out,
                                  size_t size)
{
    struct tls_keys *keys = talloc_zero(NULL, struct tls_keys);
    snprintf(why_out, size, "memory ran out");
    if (keys == NULL)
        return NULL;
    keys->users = 1;
    talloc_set_destructor(keys, free_keys);
    if (gnutls_certificate_allocate_credentials(&keys->credentials) == 0 &&
        good(gnutls_priority_init(&keys->allowed, ALLOWED, NULL), "TLS",
             "ciphers", why_out, size) &&
        read_files(keys, options, why_out, size))
        return keys;
    talloc_free(keys);
    return NULL;
}

/* Logs the certificate's serial number and expiry, so that an operator can see
 * that the new certificate is in use. */
static void log_certificate(const struct tls_keys *keys, const char *event)
{
    gnutls_x509_crt_t *chain = NULL;
    unsigned count = 0;
    unsigned char serial[32];
    char hex[2 * sizeof serial + 1] = "";
    char until[32] = "";
    size_t size = sizeof serial;
    if (gnutls_certificate_get_x509_crt(keys->credentials, 0, &chain, &count) !=
        0)
        return;
    if (gnutls_x509_crt_get_serial(chain[0], serial, &size) == 0)
        kx_hex_write(kx_slice(serial, size), hex);
    time_t end = gnutls_x509_crt_get_expiration_time(chain[0]);
    struct tm tm;
    strftime(until, sizeof until, "%Y-%m-%dT%TZ", gmtime_r(&end, &tm));
    kx_log(end < time(NULL) ? KX_LOG_WARNING : KX_LOG_INFO, event,
           "serial=%s valid_until=%s", hex, until);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(chain[i]);
    gnutls_free(chain);
}

struct tls_keyring *tls_keyring_open(const struct options *options,
                                     char *why_out, size_t size)
{
    struct tls_keys *keys = read_keys(options, why_out, size);
    if (keys == NULL)
        return NULL;
    struct tls_keyring *ring = talloc_zero(NULL, struct tls_keyring);
    if (ring == NULL || pthread_mutex_init(&ring->lock, NULL) != 0) {
        drop_tls_keys(keys);
        talloc_free(ring);
        return NULL;
    }
    ring->options = options;
    ring->keys = keys;
    log_certificate(keys, "tls-certificate");
    return ring;
}

/* True if the authorities and revocation lists of the keys accept the chain. */
static bool accepts(const struct tls_keys *keys,
                    const struct client_certificate *certificate)
{
    gnutls_x509_trust_list_t authorities;
    unsigned status = 0;
    gnutls_certificate_get_trust_list(keys->credentials, &authorities);
    return gnutls_x509_trust_list_verify_crt2(
               authorities, (gnutls_x509_crt_t *)certificate->chain,
               certificate->count, &CLIENT_PURPOSE, 1, 0, &status, NULL) >= 0 &&
           status == 0;
}

/* New keys decide about the certificate of an open connection. A certificate
 * that has only expired has an end already. */
static void check_again(const struct tls_keys *keys,
                        struct client_certificate *certificate)
{
    if (certificate->expires_at_ms <= kx_now_ms() ||
        atomic_load(&certificate->revoked) ||
        (keys->asks_client && accepts(keys, certificate)))
        return;
    atomic_store(&certificate->revoked, true);
    kx_log(KX_LOG_WARNING, "client-revoked", "subject_id=%s", certificate->id);
}

void tls_keyring_reload(struct tls_keyring *ring)
{
    char why[200];
    struct tls_keys *keys = read_keys(ring->options, why, sizeof why);
    if (keys == NULL) {
        kx_log(KX_LOG_ERROR, "tls-reload-failed",
               "why=\"%s\" kept=\"the previous certificate\"", why);
        return;
    }
    struct tls *tls;
    log_certificate(keys, "tls-reloaded");
    pthread_mutex_lock(&ring->lock);
    struct tls_keys *previous = ring->keys;
    ring->keys = keys;
    LIST_FOREACH(tls, &ring->sessions, sessions) {
        check_again(keys, tls->certificate);
    }
    pthread_mutex_unlock(&ring->lock);
    drop_tls_keys(previous);
}

void tls_keyring_close(struct tls_keyring *ring)
{
    if (ring == NULL)
        return;
    drop_tls_keys(ring->keys);
    pthread_mutex_destroy(&ring->lock);
    talloc_free(ring);
}

static struct tls_keys *take_tls_keys(struct tls_keyring *ring)
{
    pthread_mutex_lock(&ring->lock);
    struct tls_keys *keys = ring->keys;
    atomic_fetch_add(&keys->users, 1);
    pthread_mutex_unlock(&ring->lock);
    return keys;
}

static bool use_keys(const struct tls_keys *keys, gnutls_session_t session)
{
    if (gnutls_priority_set(session, keys->allowed) != 0 ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
                               keys->credentials) != 0)
        return false;
    if (keys->asks_client) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert2(session, &CLIENT_PURPOSE, 1, 0);
    }
    return true;
}

/* ---- Connections -----------------------------------------------------------
 */

enum {
    IDLE_RECORDS_MAX = 64 /* consecutive records without data: key updates,
                           * alerts */
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
    if (tls->certificate != NULL) {
        pthread_mutex_lock(&tls->ring->lock);
        LIST_REMOVE(tls, sessions);
        pthread_mutex_unlock(&tls->ring->lock);
        certificate_release(tls->certificate);
    }
    if (tls->session != NULL)
        gnutls_deinit(tls->session);
    drop_tls_keys(tls->keys);
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
    tls->ring = ring;
    tls->keys = take_tls_keys(ring);
    talloc_set_destructor(tls, free_tls);
    if (gnutls_init(&tls->session, GNUTLS_SERVER | GNUTLS_NONBLOCK |
                                       GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) ==
            0 &&
        use_keys(tls->keys, tls->session) && offer(tls->session)) {
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

static enum tls_step broken(struct tls *tls, int error)
{
    gnutls_alert_send_appropriate(tls->session, error);
    kx_log(KX_LOG_DEBUG, "tls-handshake-failed", "why=\"%s\"",
           gnutls_strerror(error));
    tls->broken = true;
    return TLS_BROKEN;
}

/* Reads the client's certificate and enters the connection into the list of the
 * ring. Keys that were read since the handshake began decide as well. False if
 * memory ran out. */
static bool note_certificate(struct tls *tls)
{
    unsigned count = 0;
    const gnutls_datum_t *chain =
        tls->keys->asks_client
            ? gnutls_certificate_get_peers(tls->session, &count)
            : NULL;
    if (chain == NULL || count == 0)
        return !tls->keys->asks_client;
    struct client_certificate *certificate = certificate_read(chain, count);
    if (certificate == NULL)
        return false;
    pthread_mutex_lock(&tls->ring->lock);
    tls->certificate = certificate;
    LIST_INSERT_HEAD(&tls->ring->sessions, tls, sessions);
    if (tls->ring->keys != tls->keys)
        check_again(tls->ring->keys, certificate);
    pthread_mutex_unlock(&tls->ring->lock);
    return true;
}

enum tls_step tls_handshake(struct tls *tls)
{
    int result = GNUTLS_E_AGAIN;
    for (int i = 0; i < IDLE_RECORDS_MAX; i++) {
        result = gnutls_handshake(tls->session);
        if (result == 0)
            return note_certificate(tls) ? TLS_THROUGH
                                         : broken(tls, GNUTLS_E_MEMORY_ERROR);
        if (gnutls_error_is_fatal(result) != 0)
            break;
        if (gnutls_record_get_direction(tls->session) == 1)
            return TLS_WANTS_ROOM;
        if (tls->empty)
            return TLS_WANTS_INPUT;
    }
    return broken(tls, result);
}

struct client_certificate *tls_certificate(const struct tls *tls)
{
    return tls != NULL ? certificate_keep(tls->certificate) : NULL;
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
