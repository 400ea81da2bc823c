/* ULIDs: 48 bits of time, then 80 random bits that count up within one
 * millisecond. Each thread has a sequence of its own. */
#include "entries/ulid.h"

#include <sys/random.h>

struct ulid {
    uint64_t ms;
    uint16_t high; /* of the random bits */
    uint64_t low;
};

static _Thread_local struct ulid last;

static void fill_random(void *out, size_t size)
{
    uint8_t *bytes = out;
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);
        if (got <= 0)
            continue; /* interrupted by a signal */
        bytes += got;
        size -= (size_t)got;
    }
}

static void begin(uint64_t ms)
{
    last.ms = ms;
    fill_random(&last.high, sizeof last.high);
    fill_random(&last.low, sizeof last.low);
}

/* When all 80 bits have been counted through, the next millisecond is borrowed:
 * order matters more than the exact time. */
static void advance(void)
{
    if (++last.low == 0 && ++last.high == 0)
        begin(last.ms + 1);
}

/* 5 bits from bit `at` of the 128 bits time-high-low. */
static unsigned five_bits(unsigned at)
{
    unsigned __int128 whole = (unsigned __int128)last.ms << 80 |
                              (unsigned __int128)last.high << 64 | last.low;
    return (unsigned)(whole >> at) & 31;
}

/* Crockford's base 32: no I, L, O, U, and in the order of ASCII, so that texts
 * sort as the numbers do. While the clock is behind the last time, the random
 * bits count up. */
void ulid_next(char *out)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t now = (uint64_t)kx_now_ms() & ((UINT64_C(1) << 48) - 1);
    if (now > last.ms)
        begin(now);
    else
        advance();
    for (unsigned i = 0; i < ULID_SIZE; i++)
        out[i] = digits[five_bits(5 * (ULID_SIZE - 1 - i))];
}
