/* What alloc_core.c tries: operations of the core on a store with a few entries
 * and two indexes. */
#ifndef ALLOC_WORLD_H
#define ALLOC_WORLD_H

#include "../lib/store.h"
#include "alloc.h"

struct world {
    struct test_store test;
    void *mem; /* of one run */
    bool persistent;
};

/* `furnish` comes first. `run` does it; `undo` (or NULL) takes back what it has
 * changed, without a failure. Both may be called again. Without memory `run`
 * returns KX_NO_MEMORY. */
struct operation {
    const char *name;
    void (*furnish)(struct world *world);
    enum kx_status (*run)(struct world *world);
    void (*undo)(struct world *world);
};

/* Those of one noun. Of what opens stores only each `stride`-th point that a
 * short sweep would take is taken. */
struct operations {
    const struct operation *list;
    size_t count;
    size_t stride;
};

extern const struct operations ALLOC_COMMITS, ALLOC_READS, ALLOC_INDEXES,
    ALLOC_TOKENS, ALLOC_FILES;

/* A new store, and its end with all files beside it: what else an operation
 * needs has the path of the store and a suffix (world_path, in world->mem). */
void world_new(struct world *world);
void world_remove(struct world *world);
char *world_path(struct world *world, const char *suffix);

/* What is being tried, and how often it was not as it must be. */
extern struct attempt {
    const char *operation;
    size_t point;
    size_t failures;
} attempt;

/* Says what is wrong, and where the allocation was that failed. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Is wrong unless the status is KX_OK. */
void done(enum kx_status status, const char *what);

/* The whole state of an open store as text in mem: indexes, tokens, entries. */
const char *world_show(const struct test_store *test, const void *mem);

/* What a run begins with is made without failures. */
struct kx_slice key_of(struct world *world, const char *json);
struct kx_mutation put(struct world *world, const char *key, const char *value);

enum kx_status commit(struct world *world, struct kx_mutation *mutations,
                      size_t count);
/* A commit about an index. */
enum kx_status change(struct world *world, enum kx_command_kind kind,
                      const char *name, const char *declaration);

/* Waits until an index is as wanted; KX_AGAIN: it did not come to that. */
typedef bool settled_fn(const struct kx_index_info *info);
enum kx_status wait_index(struct world *world, const char *name,
                          settled_fn *settled);
bool index_is_built(const struct kx_index_info *info);
/* Waits until the rows of all dropped indexes are freed; KX_AGAIN as above. */
enum kx_status wait_freed(struct world *world);

/* Some entries, an index by_e and an index by_t. */
void furnish(struct world *world);

#endif
