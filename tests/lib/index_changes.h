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

/* All entries, and what random changes of them are made with. */
struct data {
    struct model_entry slots[SLOTS];
    struct model_entry before[SLOTS]; /* the last commit */
    int64_t now;
    enum model_flaw flaw;
    uint64_t seed;
    void *mem; /* emptied for each commit */
};

/* Whether the entry is there now, and has not expired. */
bool alive(const struct data *data, const struct model_entry *slot);

/* A time in the next LIFE_MAX milliseconds, or mostly 0: never. */
int64_t random_expiry(struct data *data);

/* A mutation, and what it does to the model. */
struct kx_mutation random_mutation(struct data *data);

/* Removes the first entries from a random one on. */
struct kx_mutation random_range(struct data *data);

/* Patches them. Unless *may_out they cannot all be patched. */
struct kx_mutation random_range_patch(struct data *data, bool *may_out);

/* A check on what is there before the commit, and whether it holds. */
struct kx_check random_check(struct data *data, bool *holds_out);

/* The commit that made the changes was carried out, with this stamp. */
void keep_changes(struct data *data, uint64_t stamp);

#endif
