/* The rows of all indexes that are being built, and the keys that commits
 * change since then. Writer thread only. */
#ifndef BUILD_SET_H
#define BUILD_SET_H

#include "builds/build_rows.h"

struct build_set {
    struct writer *writer;
    struct build_rows *rows[KX_INDEXES_MAX];
    size_t count;
};

/* An empty one, with writer->changed_keys. NULL: memory ran out. Freed by
 * talloc_free, with the rows. */
struct build_set *build_set_create(struct writer *writer);

/* The rows of this index, made when they are missing; NULL: memory ran out. */
struct build_rows *build_set_rows(struct build_set *set, struct index *index);
bool build_set_has(const struct build_set *set, const struct index *index);

/* Frees these rows: they are stored, or will be gathered again. */
void build_set_end(struct build_set *set, const struct build_rows *rows);

/* Frees the rows of indexes that are no longer being built. */
void build_set_prune(struct build_set *set);

/* Bytes of memory that all of them take. */
size_t build_set_bytes(const struct build_set *set);

#endif
