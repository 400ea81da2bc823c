/* Random mutations of the entries that the model of indexes (index_model.h)
 * takes into account, each made in the model as well. */
#ifndef INDEX_CHANGES_H
#define INDEX_CHANGES_H

#include "index_model.h"

enum { LIFE_MAX = 30 }; /* milliseconds until an entry expires */

/* An entry in the model. */
struct model_entry {
    bool present;
    struct written document;
    int64_t expires_at_ms;
    uint64_t stamp; /* of the last commit that has written it */
    bool changed;   /* by the present commit */
};

/* All entries, and the state of their random changes. */
struct data {
    struct model_entry slots[SLOTS];
    struct model_entry before[SLOTS]; /* the last commit */
    int64_t now;
    enum model_flaw flaw;
    uint64_t seed;
    void *mem; /* emptied for each commit */
};

/* True if the entry is present and has not expired. */
bool alive(const struct data *data, const struct model_entry *slot);

/* Returns a time within LIFE_MAX milliseconds; mostly 0, which is never. */
int64_t random_expiry(struct data *data);

/* Returns a mutation that it has also applied to the model. */
struct kx_mutation random_mutation(struct data *data);

/* Returns a removal of the first entries from a random one on. */
struct kx_mutation random_range(struct data *data);

/* Returns a patch of such a range. Sets *may_out to false if one of its entries
 * cannot be patched. */
struct kx_mutation random_range_patch(struct data *data, bool *may_out);

/* Returns a check of the state before the commit, and whether it holds. */
struct kx_check random_check(struct data *data, bool *holds_out);

/* Keeps the changes: their commit was stored with this stamp. */
void keep_changes(struct data *data, uint64_t stamp);

#endif
