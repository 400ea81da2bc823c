/* SHA-256 of bytes that come in pieces, printed like sha256sum(1): shows
 * whether stored bytes have changed. */
#ifndef SHA256_H
#define SHA256_H

#include <nettle/sha2.h>

#include "kindex.h"

enum { SHA256_TEXT = 65 }; /* bytes of the hexadecimal digits and their NUL */

struct sha256 {
    struct sha256_ctx state;
};

/* Starts a digest. */
void sha256_begin(struct sha256 *digest);
/* Adds bytes to the digest. */
void sha256_add(struct sha256 *digest, struct kx_slice bytes);
/* Ends the digest and writes its hexadecimal digits to out, which holds
 * SHA256_TEXT bytes. */
void sha256_end(struct sha256 *digest, char *out);

#endif
