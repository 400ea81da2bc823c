/* Removes the oldest bases, and the log files before the oldest base that is
 * kept. */
#include "backup/archive_prune.h"

#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "backup/archive_names.h"

enum { BASES_MAX = 2000 };

struct bases {
    struct archive_base *list;
    size_t count;
};

static void add_base(void *target, const struct archive_base *base)
{
    struct bases *bases = target;
    if (bases->count < BASES_MAX)
        bases->list[bases->count++] = *base;
}

static int compare_bases(const void *left, const void *right)
{
    return archive_compare_bases(left, right);
}

struct prune {
    const struct kx_object_store *objects;
    const char *timeline;
    void (*between)(void *context);
    void *context;
    uint32_t below; /* log files below this number are removed */
};

/* Removes an object. If that fails, it is tried again after the next base. */
static void remove_object(const struct prune *prune, const char *name)
{
    const struct kx_object_store *objects = prune->objects;
    char path[2 * ARCHIVE_PATH];
    struct kx_fault fault;
    snprintf(path, sizeof path, "%s/%s", prune->timeline, name);
    (void)objects->remove(objects->self, path, &fault);
    prune->between(prune->context);
}

static bool remove_log(void *target, const struct kx_object *object)
{
    const struct prune *prune = target;
    uint32_t number = archive_log_number(object->name);
    if (number != 0 && number < prune->below)
        remove_object(prune, object->name);
    return true;
}

/* Removes the first `old` bases, and the log before the next base. The log may
 * have gaps. */
static void remove_before(struct prune *prune, const struct bases *bases,
                          size_t old)
{
    const struct kx_object_store *objects = prune->objects;
    struct kx_fault fault;
    prune->below = bases->list[old].first_log;
    for (size_t i = 0; i < old; i++)
        remove_object(prune, bases->list[i].name);
    (void)objects->list(objects->self, prune->timeline, remove_log, prune,
                        &fault);
}

void archive_remove_old(const struct kx_object_store *objects,
                        const char *timeline, size_t keep,
                        void (*between)(void *context), void *context)
{
    struct kx_fault fault;
    struct prune prune = {objects, timeline, between, context, 0};
    struct bases bases = {
        .list = talloc_array(NULL, struct archive_base, BASES_MAX)};
    if (bases.list == NULL)
        return;
    if (archive_bases(objects, timeline, add_base, &bases, &fault) != KX_OK)
        bases.count = 0;
    qsort(bases.list, bases.count, sizeof *bases.list, compare_bases);
    if (bases.count > keep)
        remove_before(&prune, &bases, bases.count - keep);
    talloc_free(bases.list);
}
