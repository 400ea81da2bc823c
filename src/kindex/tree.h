/* The tree of keys: which parts follow a prefix, found by skip-scan. */
#ifndef KINDEX_TREE_H
#define KINDEX_TREE_H

#include "kindex/index.h"

/* A walk over the children of a prefix. It may take any number of
 * views, each of which shows it a later state. */
struct kx_tree {
    /* Set by the caller, and valid as long as the walk. */
    struct kx_slice index; /* its name; empty: the keys of all entries */
    struct kx_slice start; /* bounds as of a kx_range */
    struct kx_slice end;
    size_t prefix_size; /* bytes of the parts that all keys begin with */

    /* Result: the last child. */
    struct kx_buffer child;   /* its key: the prefix and one more part */
    bool entry;               /* an entry has exactly this key */
    bool known;               /* false: the engine cannot estimate `below` */
    struct kx_estimate below; /* entries whose keys have more parts */

    /* Private to the walk. */
    struct kx_buffer next; /* where the walk continues; empty: at start */
    bool held;             /* the row at `next` was read, but not counted */
    bool ended;
};

/* Begins a walk; the buffers' memory is taken from mem. The caller then sets
 * the members above. */
void kx_tree_init(struct kx_tree *tree, const void *mem);

/* Finds the next child that has entries, of which it reads only a few. Inside a
 * view without another scan of the reader. KX_OK; KX_END after the last child;
 * KX_AGAIN: call again, perhaps in another view; KX_INDEX_ABSENT,
 * KX_INDEX_NOT_READY, KX_BUSY, KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE. */
enum kx_status kx_tree_next(struct kx_reader *reader, struct kx_tree *tree,
                            struct kx_fault *fault);

#endif
