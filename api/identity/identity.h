/* What the holders of JSON Web Tokens and of client certificates may do: the
 * lines of --grants.
 *
 *   [{"when":{"groups":"staff"},"scopes":["read","list"],"prefix":["orders"]},
 *    {"scopes":["read","list","watch","write"],"prefix":["users","{sub}"]}]
 *
 * A line holds if every claim in `when` equals the value or is an array that
 * contains it. "{sub}" stands for the claim `sub` as one part of the key, of
 * the claim's type. If the claim is absent, empty, or neither a string nor an
 * integer, the line grants nothing; it never grants a shorter prefix. A line
 * with `certificate` in place of `when` is for client certificates, all others
 * are for JSON Web Tokens. */
#ifndef API_IDENTITY_H
#define API_IDENTITY_H

#include "config/options.h"
#include "identity/certificate.h"
#include "identity/issuer.h"

enum {
    GRANT_LINES_MAX = 256,        /* lines of the file */
    GRANTS_FILE_MAX = 256 * 1024, /* bytes of the file */
    SUBJECTS_MAX = 32 * 1024,     /* subjects whose requests are counted */
    VERIFIED_MAX = 2048           /* verified JSON Web Tokens that are kept */
};

struct identities;

/* Reads the file options->grants; options must outlive the result. On NULL
 * why_out (`size` bytes) says what is wrong. */
struct identities *identities_open(const struct options *options, char *why_out,
                                   size_t size);
/* Reads the file again and logs the result. If it is wrong, the previous lines
 * stay. Tokens that were made keep their grants. Main thread. */
void identities_reload(struct identities *identities);
/* Frees the lines and counters. No token of identity_of_jwt may be left. NULL
 * is allowed. */
void identities_close(struct identities *identities);

/* Makes the token of a JSON Web Token: name and id come from issuer and
 * subject, so that all tokens of a subject count as one. At most KX_GRANTS_MAX
 * lines that hold count, in the order of the file. The caller releases the
 * token with kx_token_release. NULL if memory ran out. Any thread. */
struct kx_token *identity_of_jwt(struct identities *identities,
                                 const struct jwt *jwt, void *memory);
/* Returns the token of the JSON Web Token with this text, as identity_of_jwt
 * does, after issuer_check has accepted it. Verified tokens are kept, by a
 * digest of their text, until they expire, the keys or the lines change, or
 * other tokens need their place. Returns NULL with *why_out, the sentence of
 * issuer_check that says why the token is refused. Any thread. */
struct kx_token *identity_of_bearer(struct identities *identities,
                                    struct issuer *issuer, struct kx_slice text,
                                    void *memory, const char **why_out);
/* Makes the token of a client certificate, as identity_of_jwt does. It has no
 * grants if no line holds. */
struct kx_token *
identity_of_certificate(struct identities *identities,
                        const struct client_certificate *certificate,
                        void *memory);

#endif
