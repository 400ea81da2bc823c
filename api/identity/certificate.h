/* The certificate with which a client has connected. */
#ifndef API_CERTIFICATE_H
#define API_CERTIFICATE_H

#include <stdatomic.h>

#include "kindex.h"

enum {
    CERTIFICATE_NAMES_MAX = 64, /* names of each kind that are read */
    CERTIFICATE_CHAIN_MAX = 16  /* certificates of a chain */
};

/* All members but the first two are constant. */
struct client_certificate {
    atomic_uint references; /* of the connection and of its requests */
    atomic_bool revoked;    /* since the client has connected. Any thread */
    char id[KX_TOKEN_ID_SIZE + 1]; /* hexadecimal digits, from its bytes */
    /* {"subject":"CN=..","cn":"..","dns":"..","email":"..","uri":".."}; an
     * array for several names of a kind, absent for none. */
    struct kx_slice claims;
    struct kx_slice subject; /* distinguished names, RFC 4514 */
    struct kx_slice issuer;
    int64_t expires_at_ms;
    struct gnutls_x509_crt_int **chain; /* the client's first */
    unsigned count;
};

/* Reads a verified chain of `count` certificates (gnutls_datum_t, DER). The
 * caller releases it. NULL if memory ran out or a certificate cannot be read.
 */
struct client_certificate *certificate_read(const void *chain, unsigned count);

/* Adds a reference; returns the certificate. NULL is allowed. Any thread. */
struct client_certificate *
certificate_keep(struct client_certificate *certificate);
/* Drops a reference; the last one frees the certificate. NULL is allowed. Any
 * thread. */
void certificate_release(struct client_certificate *certificate);

#endif
