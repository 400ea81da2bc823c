/* SHA-256 of bytes that come in pieces, as sha256sum(1) writes it: it shows
 * whether bytes are still those that were stored. */
#ifndef SHA256_H
#define SHA256_H

#include <nettle/sha2.h>

#include "kindex.h"

enum { SHA256_TEXT = 65 }; /* bytes of the digits, with their NUL */

struct sha256 {
    struct sha256_ctx state;
};

/* Starts a new digest. */
void sha256_begin(struct sha256 *digest);
/* Takes more bytes. */
void sha256_add(struct sha256 *digest, struct kx_slice bytes);
/* Writes the digits of all that was added to out, which holds SHA256_TEXT
 * bytes. */
void sha256_end(struct sha256 *digest, char *out);

#endif
