/* Strict UTF-8: ASCII is checked eight bytes at a time, the rest character by
 * character. */
#include "kindex/text.h"

static bool eight_ascii(const uint8_t *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof(bytes));
    return (bytes & UINT64_C(0x8080808080808080)) == 0;
}

static bool continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Some first bytes allow only some second bytes: others would make overlong
 * forms, surrogates, or code points over 10FFFF. */
static bool second_fits(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

/* The size of a character in bytes, from its first byte; 0 if no character
 * begins with this byte. */
static size_t size_of(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The size of the character at `at` in bytes; 0 if it is not valid. */
static size_t character(const uint8_t *at, size_t left)
{
    size_t size = size_of(at[0]);
    if (size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (!continues(at[i]))
            return 0;
    return size < 2 || second_fits(at[0], at[1]) ? size : 0;
}

/* Tries eight bytes at each character: this costs little in text that is not
 * ASCII and saves much in text that is. The last eight bytes overlap the
 * previous ones. */
bool kx_utf8_valid(struct kx_slice text)
{
    size_t at = 0;
    while (at < text.size) {
        if (text.size - at >= 8 && eight_ascii(text.data + at)) {
            at += 8;
            continue;
        }
        if (text.size >= 8 && text.size - at < 8 &&
            eight_ascii(text.data + text.size - 8))
            return true;
        size_t size = text.data[at] < 0x80
                          ? 1
                          : character(text.data + at, text.size - at);
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

size_t kx_utf8_fit(struct kx_slice text, size_t most)
{
    if (text.size <= most)
        return text.size;
    while (most > 0 && continues(text.data[most]))
        most--;
    return most;
}

int kx_excerpt_size(struct kx_slice text)
{
    return (int)kx_utf8_fit(text, KX_EXCERPT_MAX);
}
