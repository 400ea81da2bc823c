/* Tricky doubles, by their bits, and what JavaScript's String() makes of them
 * (with "-0" for minus zero); written by node 20. */
#ifndef NUMBER_TABLE_H
#define NUMBER_TABLE_H

#include <stddef.h>
#include <stdint.h>

extern const struct number_case {
    uint64_t bits;
    const char *text;
} number_cases[];
extern const size_t number_case_count;

#endif
