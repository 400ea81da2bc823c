/* Random UUIDs: 122 random bits, 4 of the version, and 2 of the variant. */
#include "base/uuid.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

#include "kindex/text.h"

/* getrandom returns so few bytes in one piece. It blocks until the system has
 * enough entropy. */
void uuid_make(char *out)
{
    uint8_t b[16];
    while (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        continue; /* interrupted by a signal */
    b[6] = (uint8_t)(0x40 | (b[6] & 0x0f));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
    char digits[2 * sizeof b + 1];
    kx_hex_write(kx_slice(b, sizeof b), digits);
    snprintf(out, UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%s", digits, digits + 8,
             digits + 12, digits + 16, digits + 20);
}
