/* Classes of bytes in the heads of requests, for both versions of HTTP. Any
 * thread. */
#ifndef API_CHAR_CLASS_H
#define API_CHAR_CLASS_H

#include <stdint.h>

#include "kindex.h"

/* A set of bits. TOKEN: tchar of RFC 9110 section 5.6.2. NAMED: characters of a
 * host name (reg-name of RFC 3986). LITERAL: characters between the brackets of
 * an IPv6 address. */
enum char_class { TOKEN = 1, NAMED = 2, DIGIT = 4, LITERAL = 8 };

extern const uint8_t CHAR_CLASS[256];

/* Returns the first byte that is not of the class, or end. */
static inline const uint8_t *
char_class_run(const uint8_t *p, const uint8_t *end, enum char_class class)
{
    while (p < end && (CHAR_CLASS[*p] & class) != 0)
        p++;
    return p;
}

/* True if a Host header or HTTP/2 :authority is valid: a name, an IPv4 address
 * or an IPv6 address in brackets, with or without a port. It must not be empty,
 * since every URI of this service has a host. http1/framing.c checks the same
 * rules piece by piece. */
bool host_name_is_valid(struct kx_slice host);

#endif
