/* Random steps in the lives of indexes, each made in a model as well: entries
 * are written, and indexes declared, migrated, paused, verified and dropped,
 * while the store is opened again. */
#ifndef INDEX_LIVES_H
#define INDEX_LIVES_H

#include "index_changes.h"

enum { NAMES = 4 }; /* indexes i0 ... */

struct world {
    struct test_store test;
    struct data data;
    bool declared[NAMES];
    unsigned ready;   /* compared so far */
    char wrong[4000]; /* what was found, "" while all is well */
};

/* Makes a store without entries for a world, whose steps the seed says, and
 * removes it. */
void begin_world(struct world *world, uint64_t seed);
void end_world(struct world *world);

/* A random step. Empties world->data.mem. */
void step(struct world *world);

/* A name of an index: the letter and the number, in world->data.mem. */
const char *name_of(struct world *world, char letter, size_t n);

/* Commits a command about the index i<n>, and waits. */
enum kx_status about(struct world *world, size_t n, struct kx_commit commit);

/* Pauses the jobs of the index i<n> or lets them run; `slow` gives them a few
 * entries for each step of the test's own clock. */
void set_pace(struct world *world, size_t n, bool paused, bool slow);

#endif
