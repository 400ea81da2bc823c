/* Signs JSON Web Tokens with keys that are made for the test. */
#ifndef JWT_SIGN_H
#define JWT_SIGN_H

#include <gnutls/abstract.h>

#include "kindex.h"

enum jwt_kind { JWT_RSA, JWT_EC, JWT_OKP };

struct jwt_signer {
    enum jwt_kind kind;
    gnutls_privkey_t key;
};

/* Makes a key; bits count for RSA only. */
void jwt_signer_open(struct jwt_signer *signer, enum jwt_kind kind,
                     unsigned bits);
void jwt_signer_close(struct jwt_signer *signer);

/* Appends the public key as a JWK with this kid, and `more` members (such as
 * ",\"use\":\"sig\""). */
void jwt_signer_add_jwk(const struct jwt_signer *signer, const char *kid,
                        const char *more, struct kx_buffer *out);

/* Appends a token with this header and these claims. */
void jwt_sign(const struct jwt_signer *signer, struct kx_slice header,
              struct kx_slice claims, struct kx_buffer *out);

#endif
