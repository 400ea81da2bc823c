/* SHA-256, as sha256sum(1) writes it: what says that bytes are still those that
 * were stored.
 */
#ifndef DIGEST_H
#define DIGEST_H

#include <nettle/sha2.h>

#include "kindex.h"

enum { DIGEST_TEXT = 65 }; /* of the digits, with their NUL */

struct digest {
    struct sha256_ctx state;
};

/* Begins anew. */
void digest_begin(struct digest *digest);
/* Takes more bytes. */
void digest_add(struct digest *digest, struct kx_slice bytes);
/* Writes the digits of all that was added to out, which holds DIGEST_TEXT
 * bytes. */
void digest_end(struct digest *digest, char *out);

#endif
