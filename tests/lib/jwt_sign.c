/* Signs JSON Web Tokens by GnuTLS. */
#include "jwt_sign.h"

#include <gnutls/crypto.h>

#include "unit.h"

void jwt_signer_open(struct jwt_signer *signer, enum jwt_kind kind,
                     unsigned bits)
{
    static const gnutls_pk_algorithm_t ALGORITHMS[] = {
        [JWT_RSA] = GNUTLS_PK_RSA,
        [JWT_EC] = GNUTLS_PK_ECDSA,
        [JWT_OKP] = GNUTLS_PK_EDDSA_ED25519};
    if (kind == JWT_EC)
        bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    signer->kind = kind;
    assert_int_equal(gnutls_privkey_init(&signer->key), 0);
    assert_int_equal(gnutls_privkey_generate(signer->key, ALGORITHMS[kind],
                                             kind == JWT_OKP ? 256 : bits, 0),
                     0);
}

void jwt_signer_close(struct jwt_signer *signer)
{
    gnutls_privkey_deinit(signer->key);
}

static void add_member(const char *name, gnutls_datum_t *bytes, size_t least,
                       struct kx_buffer *out)
{
    static const uint8_t ZEROS[32];
    struct kx_buffer whole;
    kx_buffer_init(&whole, out->owner);
    if (bytes->size < least)
        kx_add(&whole, ZEROS, least - bytes->size);
    kx_add(&whole, bytes->data, bytes->size);
    kx_add_text(out, ",\"");
    kx_add_text(out, name);
    kx_add_text(out, "\":\"");
    kx_base64_write(kx_buffer_slice(&whole), out);
    kx_add_text(out, "\"");
    gnutls_free(bytes->data);
    kx_buffer_free(&whole);
}

void jwt_signer_add_jwk(const struct jwt_signer *signer, const char *kid,
                        const char *more, struct kx_buffer *out)
{
    gnutls_datum_t first, second = {NULL, 0};
    gnutls_pubkey_t public;
    gnutls_ecc_curve_t curve;
    unsigned flags = GNUTLS_EXPORT_FLAG_NO_LZ;
    assert_int_equal(gnutls_pubkey_init(&public), 0);
    assert_int_equal(gnutls_pubkey_import_privkey(public, signer->key, 0, 0),
                     0);
    kx_add_text(out, "{\"kty\":");
    if (signer->kind == JWT_RSA) {
        assert_int_equal(
            gnutls_pubkey_export_rsa_raw2(public, &first, &second, flags), 0);
        kx_add_text(out, "\"RSA\"");
        add_member("n", &first, 0, out);
        add_member("e", &second, 0, out);
    } else {
        bool ec = signer->kind == JWT_EC;
        assert_int_equal(gnutls_pubkey_export_ecc_raw2(public, &curve, &first,
                                                       &second, flags),
                         0);
        kx_add_text(out, ec ? "\"EC\",\"crv\":\"P-256\""
                            : "\"OKP\",\"crv\":\"Ed25519\"");
        add_member("x", &first, 32, out);
        if (ec)
            add_member("y", &second, 32, out);
    }
    kx_add_text(out, ",\"kid\":\"");
    kx_add_text(out, kid);
    kx_add_text(out, "\"");
    kx_add_text(out, more);
    kx_add_text(out, "}");
    gnutls_pubkey_deinit(public);
}

/* The two numbers of a signature in DER, each of 32 bytes. */
static void add_numbers(const gnutls_datum_t *der, struct kx_buffer *out)
{
    gnutls_datum_t r, s;
    uint8_t numbers[64] = {0};
    assert_int_equal(gnutls_decode_rs_value(der, &r, &s), 0);
    size_t skip_r = r.size > 32 ? r.size - 32 : 0;
    size_t skip_s = s.size > 32 ? s.size - 32 : 0;
    memcpy(numbers + 32 - (r.size - skip_r), r.data + skip_r, r.size - skip_r);
    memcpy(numbers + 64 - (s.size - skip_s), s.data + skip_s, s.size - skip_s);
    kx_base64_write(kx_slice(numbers, sizeof numbers), out);
    gnutls_free(r.data);
    gnutls_free(s.data);
}

void jwt_sign(const struct jwt_signer *signer, struct kx_slice header,
              struct kx_slice claims, struct kx_buffer *out)
{
    size_t begin = out->size;
    gnutls_datum_t signature;
    kx_base64_write(header, out);
    kx_add_byte(out, '.');
    kx_base64_write(claims, out);
    gnutls_datum_t data = {out->data + begin, (unsigned)(out->size - begin)};
    assert_int_equal(gnutls_privkey_sign_data(signer->key,
                                              signer->kind == JWT_OKP
                                                  ? GNUTLS_DIG_SHA512
                                                  : GNUTLS_DIG_SHA256,
                                              0, &data, &signature),
                     0);
    kx_add_byte(out, '.');
    if (signer->kind == JWT_EC)
        add_numbers(&signature, out);
    else
        kx_base64_write(kx_slice(signature.data, signature.size), out);
    gnutls_free(signature.data);
}
