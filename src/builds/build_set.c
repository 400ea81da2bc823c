/* The rows stay when an index is paused: it continues with them. */
#include "builds/build_set.h"

#include <talloc.h>

#include "commit/changed_keys.h"

/* The changed keys are a child of the set. */
static int leave_writer(struct build_set *set)
{
    set->writer->changed_keys = NULL;
    return 0;
}

struct build_set *build_set_create(struct writer *writer)
{
    struct build_set *set = talloc_zero(NULL, struct build_set);
    if (set == NULL)
        return NULL;
    set->writer = writer;
    writer->changed_keys = changed_keys_create(set);
    talloc_set_destructor(set, leave_writer);
    if (writer->changed_keys != NULL)
        return set;
    talloc_free(set);
    return NULL;
}

static size_t find(const struct build_set *set, const struct index *index)
{
    size_t n = 0;
    while (n < set->count && build_rows_index(set->rows[n]) != index)
        n++;
    return n;
}

bool build_set_has(const struct build_set *set, const struct index *index)
{
    return find(set, index) < set->count;
}

struct build_rows *build_set_rows(struct build_set *set, struct index *index)
{
    size_t n = find(set, index);
    if (n < set->count)
        return set->rows[n];
    struct build_rows *rows = build_rows_create(set, set->writer, index);
    if (rows != NULL)
        set->rows[set->count++] = rows;
    return rows;
}

static void take_out(struct build_set *set, size_t n)
{
    talloc_free(set->rows[n]);
    set->count--;
    memmove(&set->rows[n], &set->rows[n + 1],
            (set->count - n) * sizeof(struct build_rows *));
}

void build_set_end(struct build_set *set, const struct build_rows *rows)
{
    take_out(set, find(set, build_rows_index(rows)));
}

void build_set_prune(struct build_set *set)
{
    for (size_t n = set->count; n-- > 0;)
        if (!index_gathers(build_rows_index(set->rows[n])))
            take_out(set, n);
}

size_t build_set_bytes(const struct build_set *set)
{
    size_t bytes = 0;
    for (size_t n = 0; n < set->count; n++)
        bytes += build_rows_bytes(set->rows[n]);
    return bytes;
}
