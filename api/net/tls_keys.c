/* A set of keys never changes: reloading the files makes a new set, which
 * atomically replaces the previous set. The last reference frees a set. */
#include "net/tls_keys.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "kindex.h"

/* TLS 1.2 and 1.3, ephemeral key exchange and AEAD ciphers only. HTTP/2 allows
 * all of these (RFC 9113 section 9.2). */
static const char ALLOWED[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:"
    "+ECDHE-RSA:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-MAC-ALL:+AEAD:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:"
    "+GROUP-SECP384R1:+GROUP-SECP521R1:%SERVER_PRECEDENCE";

struct tls_keys {
    atomic_uint users;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t allowed;
    bool asks_client; /* requires a client certificate */
};

struct tls_keyring {
    const struct options *options;
    pthread_mutex_t lock; /* guards keys */
    struct tls_keys *keys;
};

static int free_keys(struct tls_keys *keys)
{
    if (keys->credentials != NULL)
        gnutls_certificate_free_credentials(keys->credentials);
    if (keys->allowed != NULL)
        gnutls_priority_deinit(keys->allowed);
    return 0;
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
                size);
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
        tls_keys_drop(keys);
        talloc_free(ring);
        return NULL;
    }
    ring->options = options;
    ring->keys = keys;
    log_certificate(keys, "tls-certificate");
    return ring;
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
    log_certificate(keys, "tls-reloaded");
    pthread_mutex_lock(&ring->lock);
    struct tls_keys *previous = ring->keys;
    ring->keys = keys;
    pthread_mutex_unlock(&ring->lock);
    tls_keys_drop(previous);
}

void tls_keyring_close(struct tls_keyring *ring)
{
    if (ring == NULL)
        return;
    tls_keys_drop(ring->keys);
    pthread_mutex_destroy(&ring->lock);
    talloc_free(ring);
}

struct tls_keys *tls_keys_take(struct tls_keyring *ring)
{
    pthread_mutex_lock(&ring->lock);
    struct tls_keys *keys = ring->keys;
    atomic_fetch_add(&keys->users, 1);
    pthread_mutex_unlock(&ring->lock);
    return keys;
}

/* A client certificate must have the clientAuth key purpose: a server's
 * certificate is refused. */
bool tls_keys_use(const struct tls_keys *keys, gnutls_session_t session)
{
    static gnutls_typed_vdata_st client = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    if (gnutls_priority_set(session, keys->allowed) != 0 ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
                               keys->credentials) != 0)
        return false;
    if (keys->asks_client) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert2(session, &client, 1, 0);
    }
    return true;
}

void tls_keys_drop(struct tls_keys *keys)
{
    if (atomic_fetch_sub(&keys->users, 1) == 1)
        talloc_free(keys);
}
