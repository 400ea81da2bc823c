/* Classes of bytes in the heads of requests, for both versions of HTTP. */
#ifndef API_CHAR_CLASS_H
#define API_CHAR_CLASS_H

#include <stdint.h>

/* As bits. TOKEN: tchar of RFC 9110 section 5.6.2. NAMED: what a host name may
 * have (reg-name of RFC 3986). LITERAL: what stands in the brackets of an IPv6
 * address. */
enum char_class { TOKEN = 1, NAMED = 2, DIGIT = 4, LITERAL = 8 };

extern const uint8_t CHAR_CLASS[256];

/* Past the bytes of a class. */
static inline const uint8_t *
char_class_run(const uint8_t *p, const uint8_t *end, enum char_class class)
{
    while (p < end && (CHAR_CLASS[*p] & class) != 0)
        p++;
    return p;
}

#endif
