/* The text of access tokens: kindex_<id>_<secret>. The id finds the stored
 * token, whose digest the secret must match. Any thread. */
#ifndef API_CREDENTIAL_H
#define API_CREDENTIAL_H

#include "kindex.h"

enum {
    CREDENTIAL_SECRET_SIZE = 32,                    /* random bytes */
    CREDENTIAL_SIZE = 7 + KX_TOKEN_ID_SIZE + 1 + 43 /* bytes of the text */
};

struct credential {
    char id[KX_TOKEN_ID_SIZE + 1];
    uint8_t digest[KX_TOKEN_DIGEST_SIZE]; /* SHA-256 of the secret */
};

/* Creates a token and writes its text, with a NUL, to text (CREDENTIAL_SIZE + 1
 * bytes). False if memory ran out or the system has no random bytes. */
bool credential_make(struct credential *credential_out, char *text);

/* Reads the text of a token. False if it has another form. */
bool credential_read(struct kx_slice text, struct credential *credential_out);

/* True if the credential has the secret of this token. Runs in constant time.
 */
bool credential_fits(const struct credential *credential,
                     const struct kx_token *token);

#endif
