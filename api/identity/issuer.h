/* The issuer of JSON Web Tokens: its public keys, and the check of a token
 * against them. The keys come from a file, or from an https address, which a
 * thread of the issuer fetches again: after ISSUER_REFRESH_S, and when a token
 * names an unknown key. If the keys cannot be fetched the previous ones stay.
 *
 * A key belongs to one algorithm: RSA to RS256, P-256 to ES256, Ed25519 to
 * EdDSA. A token whose header names another algorithm than that of its key is
 * refused, so neither `none` nor a public key used as a secret is accepted. */
#ifndef API_ISSUER_H
#define API_ISSUER_H

#include "config/options.h"
#include "kindex.h"

enum {
    JWT_MAX = 8 * 1024,        /* bytes of a token */
    JWT_SKEW_MS = 60 * 1000,   /* by which the issuer's clock may differ */
    JWT_SUBJECT_MAX = 255,     /* bytes of the claim `sub` */
    JWKS_MAX = 256 * 1024,     /* bytes of a set of keys */
    JWKS_KEYS_MAX = 64,        /* keys of a set */
    JWT_RSA_BITS_MIN = 2048,   /* smaller keys are not used */
    JWT_RSA_BITS_MAX = 8192,   /* larger ones take too long to verify */
    ISSUER_REFRESH_S = 600,    /* seconds between two fetches */
    ISSUER_RETRY_S = 60,       /* seconds after a fetch that failed */
    ISSUER_UNKNOWN_KEY_S = 60, /* seconds between two fetches because of tokens
                                * with unknown keys */
    ISSUER_FETCH_S = 10        /* longest time of a fetch */
};

/* A token that was accepted. Its texts lie in the memory given to issuer_check.
 */
struct jwt {
    struct kx_slice claims;  /* JSON object; kx_json_check accepted it */
    struct kx_slice subject; /* the claim `sub`; empty: it has none */
    int64_t expires_at_ms;   /* JWT_SKEW_MS after its claim `exp` */
    int64_t begins_at_ms;    /* JWT_SKEW_MS before its claim `nbf`; 0: none */
};

/* True if a JSON value equals another, or is an array that contains it. */
static inline bool json_is_or_contains(struct kx_slice value,
                                       struct kx_slice wanted)
{
    struct kx_json_iter iter;
    struct kx_slice name, element;
    if (kx_json_type(value) != KX_JSON_ARRAY)
        return kx_json_equal(value, wanted);
    kx_json_iterate(value, &iter);
    while (kx_json_next(&iter, &name, &element))
        if (kx_json_equal(element, wanted))
            return true;
    return false;
}

struct issuer;

/* Opens the issuer that options name (jwt_keys, jwt_issuer, jwt_audience,
 * jwt_ca); options must outlive it. NULL if a file has no usable key or memory
 * ran out; why_out (`size` bytes) then says why. If keys cannot be fetched now,
 * the issuer opens without keys. Main thread. */
struct issuer *issuer_open(const struct options *options, char *why_out,
                           size_t size);
/* Reads the file again, or fetches the keys soon. If that fails the previous
 * keys stay. Main thread. */
void issuer_reload(struct issuer *issuer);
/* Ends the thread and frees the issuer. NULL is allowed. Main thread, after the
 * last issuer_check. */
void issuer_close(struct issuer *issuer);

/* Checks the signature and the claims iss, aud, exp and nbf of a token. Returns
 * NULL and fills in *jwt_out (texts in memory, a talloc context), or returns
 * the sentence that says why the token is refused; ISSUER_NO_MEMORY if memory
 * ran out during the check. Any thread. */
extern const char ISSUER_NO_MEMORY[];
const char *issuer_check(struct issuer *issuer, struct kx_slice text,
                         void *memory, struct jwt *jwt_out);

/* Returns a number that grows with each change of the keys. Any thread. */
uint64_t issuer_generation(struct issuer *issuer);

/* Replaces the keys by those of a JWK set. On false the text has no usable key;
 * the keys stay, and why_out says why. Any thread. */
bool issuer_use_keys(struct issuer *issuer, struct kx_slice text, char *why_out,
                     size_t size);

#endif
