/* Edit distance between a mistyped name and the name that was meant. */
#include "kindex/text.h"

enum { COMPARED_MAX = 64 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t less = a < b ? a : b;
    return less < c ? less : c;
}

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

/* Levenshtein distance, computed row by row, so that one row of the table is
 * enough memory. */
static size_t edit_distance(struct kx_slice a, struct kx_slice b)
{
    size_t row[COMPARED_MAX + 1];
    if (a.size > COMPARED_MAX || b.size > COMPARED_MAX)
        return COMPARED_MAX;
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 0; i < a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= b.size; j++) {
            size_t above = row[j];
            size_t change = lower(a.data[i]) != lower(b.data[j - 1]);
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[b.size];
}

bool kx_resembles(struct kx_slice given, struct kx_slice name, size_t *best)
{
    size_t distance = edit_distance(given, name);
    if (distance >= *best || distance >= name.size)
        return false;
    *best = distance;
    return true;
}
