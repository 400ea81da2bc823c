/* Random UUIDs: 122 random bits, 4 that say so, and 2 of the variant. */
#include "base/uuid.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

/* So few bytes are given whole, once the system has any at all; getrandom then
 * waits. */
void uuid_make(char *out)
{
    uint8_t b[16];
    while (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        continue; /* interrupted by a signal */
    b[6] = (uint8_t)(0x40 | (b[6] & 0x0f));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
    for (int i = 0; i < 16; i++) {
        if (i >= 4 && i <= 10 && i % 2 == 0)
            *out++ = '-';
        out += snprintf(out, 3, "%02x", b[i]);
    }
}
