/* What the comparisons of the next rows look up is read ahead, if the engine is
 * remote or its disk slow: a round trip for a page of rows, not one for each of
 * them, or reads at the same time. */
#include <talloc.h>

#include "base/arena.h"
#include "indexes/verify_state.h"

enum { KEYS_MAX = 1000 };

/* The keys that will be looked up. */
struct wanted {
    struct kx_slice keys[KEYS_MAX];
    size_t count;
    struct arena arena;
};

static bool want(struct wanted *wanted, struct kx_slice head,
                 struct kx_slice tail)
{
    size_t size = head.size + tail.size;
    uint8_t *copy =
        wanted->count < KEYS_MAX ? arena_take(&wanted->arena, size) : NULL;
    if (copy == NULL)
        return false;
    if (head.size != 0)
        memcpy(copy, head.data, head.size);
    if (tail.size != 0)
        memcpy(copy + head.size, tail.data, tail.size);
    wanted->keys[wanted->count++] = kx_slice(copy, size);
    return true;
}

/* Of a row of the index, its entry. */
static bool want_entry(struct verify *job, struct wanted *wanted,
                       struct kx_slice key, struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row) || row.index != job->index->id || row.deleted)
        return true;
    return want(wanted, job->index->declaration->prefix,
                record_owner(&row, key));
}

/* Of an entry, its rows. */
static bool want_rows(struct verify *job, struct wanted *wanted,
                      struct kx_slice key, struct kx_slice bytes)
{
    struct record entry;
    struct extract *extract = &job->other_source.extract;
    const struct declaration *declaration = job->index->declaration;
    if (!record_read(bytes, &entry) || entry.index != 0 ||
        !declaration_covers(declaration, key) ||
        extract_keys(extract, declaration, key, &entry) != KX_OK)
        return true;
    for (size_t n = 0; n < extract->count; n++)
        if (!want(wanted, kx_slice(NULL, 0), extract_key(extract, n)))
            return false;
    return true;
}

size_t verify_prefetch(struct verify *job, struct kx_slice key,
                       struct kx_slice bytes)
{
    struct engine_view *view = job->writer->base.view;
    size_t rows = 0;
    if (!engine_prefetches(view))
        return SIZE_MAX;
    struct wanted *wanted = talloc(job->mem, struct wanted);
    if (wanted == NULL)
        return 1;
    wanted->count = 0;
    arena_init(&wanted->arena, wanted);
    while ((job->next->report.back ? want_rows : want_entry)(job, wanted, key,
                                                             bytes) &&
           engine_range_peek(job->writer->base.range, rows, &key, &bytes))
        rows++;
    if (wanted->count > 1)
        engine_prefetch(view, wanted->keys, wanted->count);
    talloc_free(wanted);
    return rows + 1;
}
