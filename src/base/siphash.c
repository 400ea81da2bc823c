/* SipHash-2-4 with a 128-bit result (Aumasson and Bernstein). A word of 8 bytes
 * may span several pieces of the input. */
#include <endian.h>

#include "kindex/bytes.h"

struct sip {
    uint64_t v[4];
    uint64_t word; /* bytes that do not fill a word yet, lowest first */
    size_t size;   /* bytes so far */
};

static uint64_t turned(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds(uint64_t v[4], int count)
{
    for (int i = 0; i < count; i++) {
        v[0] += v[1];
        v[1] = turned(v[1], 13) ^ v[0];
        v[0] = turned(v[0], 32);
        v[2] += v[3];
        v[3] = turned(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = turned(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = turned(v[1], 17) ^ v[2];
        v[2] = turned(v[2], 32);
    }
}

static void mix(struct sip *sip, uint64_t word)
{
    sip->v[3] ^= word;
    rounds(sip->v, 2);
    sip->v[0] ^= word;
}

/* Reads 8 bytes as a little-endian number. */
static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

/* Reads fewer than 8 bytes as a little-endian number. */
static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void add(struct sip *sip, struct kx_slice bytes)
{
    const uint8_t *next = bytes.data;
    size_t left = bytes.size;
    size_t shift = 8 * (sip->size % 8);
    sip->size += bytes.size;
    for (; left >= 8; left -= 8, next += 8) {
        uint64_t word = load_word(next);
        mix(sip, sip->word | word << shift);
        sip->word = shift == 0 ? 0 : word >> (64 - shift);
    }
    uint64_t rest = load(next, left);
    sip->word |= rest << shift;
    if (shift + 8 * left < 64)
        return;
    mix(sip, sip->word);
    sip->word = shift == 0 ? 0 : rest >> (64 - shift);
}

static void put(uint64_t word, uint8_t *out)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(word >> (8 * i));
}

/* The key is that of the reference's test vectors: the bytes 0 to 15. */
void kx_fingerprint(const struct kx_slice *parts, size_t count, uint8_t *out)
{
    const uint64_t low = UINT64_C(0x0706050403020100);
    const uint64_t high = UINT64_C(0x0f0e0d0c0b0a0908);
    struct sip sip = {.v = {low ^ UINT64_C(0x736f6d6570736575),
                            high ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                            low ^ UINT64_C(0x6c7967656e657261),
                            high ^ UINT64_C(0x7465646279746573)}};
    for (size_t i = 0; i < count; i++)
        add(&sip, parts[i]);
    mix(&sip, sip.word | (uint64_t)sip.size << 56);
    sip.v[2] ^= 0xee;
    rounds(sip.v, 4);
    put(sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3], out);
    sip.v[1] ^= 0xdd;
    rounds(sip.v, 4);
    put(sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3], out + 8);
}
