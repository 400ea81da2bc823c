/* Regular expressions of ECMA-262 with the flag u, for `pattern` of a JSON
 * Schema. They are matched by an automaton without backtracking, so they have
 * no look-around and no back-references, and of the properties of \p only the
 * general categories. A compiled pattern never changes; any number of threads
 * may match with it at the same time. */
#ifndef PATTERN_H
#define PATTERN_H

#include "base/charge.h"
#include "kindex.h"

enum {
    PATTERN_SIZE_MAX = 4096,      /* characters of a pattern */
    PATTERN_POSITIONS_MAX = 1000, /* characters and classes, with each repeat
                                   * written out */
    PATTERN_RANGES_MAX = 1000,    /* ranges of characters in all classes */
    PATTERN_GROUPS_MAX = 20,      /* groups inside each other */
    PATTERN_ASCII = 128
};

struct pattern {
    size_t positions; /* memory and the cost of compiling grow at most with
                       * their square */
    /* The automaton (pattern.c). */
    size_t words; /* 64-bit words of a row */
    bool has_word_assertions;
    bool has_categories;
    uint16_t nullable;  /* a bit for each kind of boundary at which the
                         * pattern matches nothing */
    uint64_t *first;    /* a row for each boundary: what a match begins with */
    uint64_t *last;     /* a row for each boundary: what a match ends with */
    uint64_t *follow;   /* rows of positions, for each kind of boundary inside
                         * the text */
    uint32_t *bounds;   /* the first characters of intervals, from 0 on */
    size_t bound_count; /* the number of intervals */
    uint64_t *accept;   /* a row for each interval */
    uint64_t *categories;          /* a row for each category */
    uint64_t *negated;             /* the positions of negated classes */
    uint16_t ascii[PATTERN_ASCII]; /* the intervals of these characters */
};

/* Compiles the pattern of a checked JSON string token (with its quotes). The
 * result lives until `owner` (a talloc context) or the pattern itself is freed
 * with talloc_free. KX_OK; KX_BAD_VALUE, with the reason in fault;
 * KX_NO_MEMORY. */
enum kx_status pattern_compile(struct kx_slice token, const void *owner,
                               struct pattern **pattern_out,
                               struct kx_fault *fault);

/* True if the characters of a checked JSON string token contain a match. The
 * cost is added to charge; a match that costs more than the charge has left is
 * not found. */
bool pattern_matches(const struct pattern *pattern, struct kx_slice token,
                     struct charge *charge);

#endif
