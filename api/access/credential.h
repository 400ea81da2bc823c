/* Access tokens as clients have them: kindex_<id>_<secret>. The id is looked
 * up, the secret compared by its digest. */
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

/* A new one; its text, with a NUL, in text (CREDENTIAL_SIZE + 1 bytes). False
 * when memory or the system's random numbers are not to be had. */
bool credential_make(struct credential *credential_out, char *text);

/* Reads a text; false when it is none. */
bool credential_read(struct kx_slice text, struct credential *credential_out);

/* Is it this token? Takes the same time whatever the secret is. */
bool credential_fits(const struct credential *credential,
                     const struct kx_token *token);

#endif
