/* Reads the names of a client certificate as JSON, so that the lines of
 * --grants compare them as they compare claims. */
#include "identity/certificate.h"

#include <gnutls/x509.h>
#include <talloc.h>

static int free_chain(struct client_certificate *certificate)
{
    for (unsigned i = 0; i < certificate->count; i++)
        gnutls_x509_crt_deinit(certificate->chain[i]);
    return 0;
}

static bool read_chain(struct client_certificate *certificate,
                       const gnutls_datum_t *chain, unsigned count)
{
    certificate->chain = talloc_array(certificate, gnutls_x509_crt_t, count);
    if (certificate->chain == NULL || count > CERTIFICATE_CHAIN_MAX)
        return false;
    for (unsigned i = 0; i < count; i++) {
        gnutls_x509_crt_t *one = &certificate->chain[i];
        if (gnutls_x509_crt_init(one) < 0)
            return false;
        certificate->count++;
        if (gnutls_x509_crt_import(*one, &chain[i], GNUTLS_X509_FMT_DER) < 0)
            return false;
    }
    return true;
}

/* ---- Names ------------------------------------------------------------------
 */

/* Copies a text that the library has made, and frees it. False if memory ran
 * out. */
static bool copy_name(void *memory, int error, gnutls_datum_t *text,
                      struct kx_slice *name_out)
{
    *name_out = kx_slice(NULL, 0);
    if (error < 0)
        return error != GNUTLS_E_MEMORY_ERROR;
    bool good =
        kx_slice_copy(memory, kx_slice(text->data, text->size), name_out);
    gnutls_free(text->data);
    return good;
}

static void add_value(struct kx_slice value, bool first, struct kx_buffer *out)
{
    kx_add(out, ",", !first);
    kx_json_escape(value, out);
}

/* Adds a member with this name; an array for more than one value. */
static void add_member(const char *name, const struct kx_slice *values,
                       size_t count, struct kx_buffer *out)
{
    if (count == 0)
        return;
    kx_add(out, ",", out->size > 1);
    kx_json_escape(kx_text(name), out);
    kx_add_text(out, count > 1 ? ":[" : ":");
    for (size_t i = 0; i < count; i++)
        add_value(values[i], i == 0, out);
    kx_add(out, "]", count > 1);
}

/* Adds the alternative names of one kind. If one cannot be read, or there are
 * more than CERTIFICATE_NAMES_MAX, none is added: one of several names must not
 * look like the only one. */
static bool add_alternatives(const struct client_certificate *certificate,
                             gnutls_x509_subject_alt_name_t wanted,
                             const char *name, struct kx_buffer *out)
{
    struct kx_slice values[CERTIFICATE_NAMES_MAX];
    size_t count = 0;
    unsigned i = 0;
    for (int type; i <= CERTIFICATE_NAMES_MAX; i++) {
        uint8_t text[KX_KEY_MAX];
        size_t size = sizeof text;
        type = gnutls_x509_crt_get_subject_alt_name(certificate->chain[0], i,
                                                    text, &size, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        if (type != (int)wanted && type >= 0)
            continue;
        if (type < 0 || !kx_utf8_valid(kx_slice(text, size)))
            return true;
        if (count < CERTIFICATE_NAMES_MAX &&
            !kx_slice_copy(certificate, kx_slice(text, size), &values[count++]))
            return false;
    }
    if (i <= CERTIFICATE_NAMES_MAX)
        add_member(name, values, count, out);
    return true;
}

/* Adds the common name, unless there are several. */
static bool add_common_name(const struct client_certificate *certificate,
                            struct kx_buffer *out)
{
    char text[KX_KEY_MAX];
    size_t size = sizeof text;
    gnutls_x509_crt_t own = certificate->chain[0];
    if (gnutls_x509_crt_get_dn_by_oid(own, GNUTLS_OID_X520_COMMON_NAME, 1, 0,
                                      NULL, &(size_t){0}) !=
            GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE ||
        gnutls_x509_crt_get_dn_by_oid(own, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                      text, &size) < 0)
        return true;
    struct kx_slice name = kx_slice(text, size);
    if (kx_utf8_valid(name))
        add_member("cn", &name, 1, out);
    return true;
}

static bool read_names(struct client_certificate *certificate)
{
    gnutls_datum_t text;
    gnutls_x509_crt_t own = certificate->chain[0];
    struct kx_buffer claims;
    kx_buffer_init(&claims, certificate);
    if (!copy_name(certificate, gnutls_x509_crt_get_dn3(own, &text, 0), &text,
                   &certificate->subject) ||
        !copy_name(certificate, gnutls_x509_crt_get_issuer_dn3(own, &text, 0),
                   &text, &certificate->issuer))
        return false;
    kx_add_byte(&claims, '{');
    if (certificate->subject.size > 0 && kx_utf8_valid(certificate->subject))
        add_member("subject", &certificate->subject, 1, &claims);
    bool good =
        add_common_name(certificate, &claims) &&
        add_alternatives(certificate, GNUTLS_SAN_DNSNAME, "dns", &claims) &&
        add_alternatives(certificate, GNUTLS_SAN_RFC822NAME, "email",
                         &claims) &&
        add_alternatives(certificate, GNUTLS_SAN_URI, "uri", &claims);
    kx_add_byte(&claims, '}');
    certificate->claims = kx_buffer_slice(&claims);
    return good && !claims.failed;
}

struct client_certificate *
certificate_keep(struct client_certificate *certificate)
{
    if (certificate != NULL)
        atomic_fetch_add(&certificate->references, 1);
    return certificate;
}

void certificate_release(struct client_certificate *certificate)
{
    if (certificate != NULL &&
        atomic_fetch_sub(&certificate->references, 1) == 1)
        talloc_free(certificate);
}

struct client_certificate *certificate_read(const void *chain, unsigned count)
{
    const gnutls_datum_t *own = chain;
    uint8_t digest[KX_SHA256_SIZE];
    struct client_certificate *certificate =
        talloc_zero(NULL, struct client_certificate);
    if (certificate == NULL)
        return NULL;
    certificate->references = 1;
    talloc_set_destructor(certificate, free_chain);
    kx_sha256(kx_slice(own->data, own->size), digest);
    kx_hex_write(kx_slice(digest, KX_TOKEN_ID_SIZE / 2), certificate->id);
    if (read_chain(certificate, chain, count) && read_names(certificate)) {
        certificate->expires_at_ms =
            (int64_t)gnutls_x509_crt_get_expiration_time(
                certificate->chain[0]) *
            1000;
        return certificate;
    }
    talloc_free(certificate);
    return NULL;
}
