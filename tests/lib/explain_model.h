/* A model of explanations: random queries, and their results by a naive walk
 * over all entries. */
#ifndef EXPLAIN_MODEL_H
#define EXPLAIN_MODEL_H

#include "store.h"

/* ---- Values and queries ------------------------------------------------- */

/* Values of one type are adjacent; a value that no index can hold has type 0.
 */
enum { NONE = -1, PLAIN = 36, COUNT = 38 };

extern const struct model_value {
    const char *text;
    int type;
    int rank;   /* in the order of all values; equal values have one rank */
    int folded; /* the rank when it is folded */
} VALUES[COUNT];

/* An entry ["e", number] with members a and b, and an array t. */
struct entry {
    int member[2]; /* values, NONE: not there */
    int elements[3];
    size_t element_count;
};

struct place {
    int member; /* 0: a, 1: b, 2: t with each, 3: part 1 of the key */
    bool folded;
    bool descending; /* of an order or an index */
};

enum query_comparison { EQ, NE, GT, GE, LT, LE, IN, EXISTS };

struct query_condition {
    struct place place;
    enum query_comparison comparison;
    int operands[2];
    size_t operand_count;
};

struct query {
    struct query_condition wanted[3];
    size_t wanted_count;
    struct place order[2];
    size_t order_count;
    bool reverse;
};

/* ---- The naive walk ----------------------------------------------------- */

/* Whether the query shows the entry ["e", key]. */
bool is_wanted(const struct query *query, const struct entry *entry,
               size_t key);

/* Less than 0: entry a comes before b. */
int compare_entries(const struct entry *entries, const struct query *query,
                    size_t a, size_t b);

/* ---- Chance ------------------------------------------------------------- */

/* These draw from *seed. */
struct place random_place(uint64_t *seed);
struct query_condition random_wanted(uint64_t *seed);
struct query random_query(uint64_t *seed);

/* These append JSON to out. write_place leaves its object open, so that more
 * members can follow. */
void write_place(const struct place *place, struct kx_buffer *out);
void write_wanted(const struct query_condition *wanted, struct kx_buffer *out);
void write_query(const struct query *query, struct kx_buffer *out);

#endif
