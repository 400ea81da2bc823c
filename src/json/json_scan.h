/* Fast skipping over JSON text: white space, strings, values. White space is
 * skipped byte by byte, because there is little of it. Strings are skipped in
 * blocks of 16 bytes where the processor has SSE2, elsewhere in words of 8
 * bytes. */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kindex.h"

struct json_text {
    const uint8_t *start;
    const uint8_t *end;
};

/* The byte at `at`, or 0 at the end. No JSON text has a 0 byte. */
static inline uint8_t json_peek(const uint8_t *at, const uint8_t *end)
{
    return at < end ? *at : 0;
}

static inline bool json_is_digit(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10;
}

static inline bool json_is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static inline const uint8_t *json_skip_space(const uint8_t *at,
                                             const uint8_t *end)
{
    while (at < end && *at <= ' ' && json_is_space(*at))
        at++;
    return at;
}

/* True for a byte that ends a string, and for one that needs a closer look: a
 * backslash, a control character, a part of a character outside ASCII. */
static inline bool json_is_stop(uint8_t byte)
{
    return byte == '"' || byte == '\\' || byte < ' ' || byte >= 0x80;
}

/* ---- Words of 8 bytes --------------------------------------------------- */

#define JSON_ONES UINT64_C(0x0101010101010101)
#define JSON_HIGHS UINT64_C(0x8080808080808080)

static inline uint64_t json_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

/* A high bit for each byte that is 0, in a word without other high bits. A
 * borrow can set further bits, but only above the lowest one, which is always
 * correct. */
static inline uint64_t json_zeros(uint64_t word)
{
    return word - JSON_ONES;
}

/* Marks the bytes for which json_is_stop is true; 0 without such a byte. */
static inline uint64_t json_word_stops(uint64_t word)
{
    return (json_zeros(word ^ '"' * JSON_ONES) |
            json_zeros(word ^ '\\' * JSON_ONES) | (word - ' ' * JSON_ONES) |
            word) &
           JSON_HIGHS;
}

/* ---- Blocks ------------------------------------------------------------- */

/* Within the JSON_BLOCK bytes at `at`, json_stops marks the bytes for which
 * json_is_stop is true, json_ends the quotes and backslashes. The marks are 0
 * without such a byte; otherwise json_first is the number of bytes before the
 * first one. */
#ifdef __SSE2__

enum { JSON_BLOCK = 16 };

static inline __m128i json_marks_of_ends(__m128i block)
{
    return _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                        _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
}

static inline uint64_t json_ends(const uint8_t *at)
{
    __m128i block = _mm_loadu_si128((const __m128i *)at);
    return (uint32_t)_mm_movemask_epi8(json_marks_of_ends(block));
}

static inline uint64_t json_stops(const uint8_t *at)
{
    __m128i block = _mm_loadu_si128((const __m128i *)at);
    /* Signed: below 0 for control characters and for bytes from 0x80 on. */
    __m128i low = _mm_subs_epi8(block, _mm_set1_epi8(' '));
    return (uint32_t)_mm_movemask_epi8(
        _mm_or_si128(json_marks_of_ends(block), low));
}

static inline size_t json_first(uint64_t marks)
{
    return (unsigned)__builtin_ctz((uint32_t)marks);
}

#else

enum { JSON_BLOCK = 8 };

static inline uint64_t json_ends(const uint8_t *at)
{
    uint64_t word = json_word(at);
    return (json_zeros(word ^ '"' * JSON_ONES) |
            json_zeros(word ^ '\\' * JSON_ONES)) &
           ~word & JSON_HIGHS;
}

static inline uint64_t json_stops(const uint8_t *at)
{
    return json_word_stops(json_word(at));
}

static inline size_t json_first(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) >> 3;
}

#endif

/* The first byte from `at` on for which json_is_stop is true; NULL if the text
 * has none. */
static inline const uint8_t *json_skip_plain(const uint8_t *at,
                                             struct json_text text)
{
    for (; text.end - at >= JSON_BLOCK; at += JSON_BLOCK) {
        uint64_t stops = json_stops(at);
        if (stops != 0)
            return at + json_first(stops);
    }
#ifdef __SSE2__
    if (text.end - text.start >= JSON_BLOCK) {
        /* The remainder is the end of the text's last block; the marks of the
         * bytes before it are shifted out. */
        uint64_t stops = json_stops(text.end - JSON_BLOCK);
        stops >>= JSON_BLOCK - (text.end - at);
        return stops != 0 ? at + json_first(stops) : NULL;
    }
#endif
    for (; at < text.end; at++)
        if (json_is_stop(*at))
            return at;
    return NULL;
}

/* The next quote or backslash; the text must have one. */
static inline const uint8_t *json_skip_to_end(const uint8_t *at,
                                              const uint8_t *end)
{
    for (; end - at >= JSON_BLOCK; at += JSON_BLOCK) {
        uint64_t ends = json_ends(at);
        if (ends != 0)
            return at + json_first(ends);
    }
    while (*at != '"' && *at != '\\')
        at++;
    return at;
}

/* From the opening quote of a valid string to the byte after the closing
 * quote. */
static inline const uint8_t *json_skip_string(const uint8_t *at,
                                              const uint8_t *end)
{
    at = json_skip_to_end(at + 1, end);
    while (*at == '\\')
        at = json_skip_to_end(at + 2, end);
    return at + 1;
}

/* ---- Values --------------------------------------------------------------
 * Checked text is known to be valid, so values are skipped by brackets and
 * quotes alone. */

/* Only within an array or object, whose closing bracket ends the loop. */
static inline const uint8_t *json_skip_gap(const uint8_t *at)
{
    while (*at <= ' ')
        at++;
    return at;
}

/* Outside strings, only '[' and '{' (']' and '}') pass these tests, and in
 * valid text they match. */
static inline bool json_is_open(uint8_t byte)
{
    return (byte | 0x20) == '{';
}

static inline bool json_is_close(uint8_t byte)
{
    return (byte | 0x20) == '}';
}

/* From an opening bracket to the byte after its closing one. */
static inline const uint8_t *json_skip_container(const uint8_t *at,
                                                 const uint8_t *end)
{
    size_t depth = 0;
    do {
        if (*at == '"') {
            at = json_skip_string(at, end);
            continue;
        }
        if (json_is_open(*at))
            depth++;
        else if (json_is_close(*at))
            depth--;
        at++;
    } while (depth > 0);
    return at;
}

/* Skips from a value's first byte to the byte after the value. A number or
 * literal ends at the first byte that cannot be part of it. */
static inline const uint8_t *json_skip_value(const uint8_t *at,
                                             const uint8_t *end)
{
    if (*at == '"')
        return json_skip_string(at, end);
    if (json_is_open(*at))
        return json_skip_container(at, end);
    while (at<end && * at> ' ' && *at != ',' && !json_is_close(*at))
        at++;
    return at;
}

#endif
