/* Access tokens as clients have them: kindex_<id>_<secret>. The id is looked
 * up, and the secret is compared by its digest. Any thread. */
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

/* Makes a new token and writes its text, with a NUL, to text (CREDENTIAL_SIZE +
 * 1 bytes). False when memory ran out or the system gives no random bytes. */
bool credential_make(struct credential *credential_out, char *text);

/* Reads the text of a token; false when it has another form. */
bool credential_read(struct kx_slice text, struct credential *credential_out);

/* Has the credential the secret of this token? Takes the same time for every
 * secret. */
bool credential_fits(const struct credential *credential,
                     const struct kx_token *token);

#endif
