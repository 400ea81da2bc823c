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

struct logs {
    const struct kx_object_store *objects;
    const char *timeline;
    uint32_t below;
};

/* An object that cannot be removed is tried again after the next base. */
static void remove_object(const struct kx_object_store *objects,
                          const char *timeline, const char *name)
{
    char path[2 * ARCHIVE_PATH];
    struct kx_fault fault;
    snprintf(path, sizeof path, "%s/%s", timeline, name);
    (void)objects->remove(objects->self, path, &fault);
}

static bool remove_log(void *target, const struct kx_object *object)
{
    const struct logs *logs = target;
    uint32_t number = archive_log_number(object->name);
    if (number != 0 && number < logs->below)
        remove_object(logs->objects, logs->timeline, object->name);
    return true;
}

/* Removes the first `old` bases, and the log before the next one. There may be
 * gaps in the log. */
static void remove_before(const struct kx_object_store *objects,
                          const char *timeline, const struct bases *bases,
                          size_t old)
{
    struct kx_fault fault;
    struct logs logs = {objects, timeline, bases->list[old].first_log};
    for (size_t i = 0; i < old; i++)
        remove_object(objects, timeline, bases->list[i].name);
    (void)objects->list(objects->self, timeline, remove_log, &logs, &fault);
}

void archive_remove_old(const struct kx_object_store *objects,
                        const char *timeline, size_t keep)
{
    struct kx_fault fault;
    struct bases bases = {
        .list = talloc_array(NULL, struct archive_base, BASES_MAX)};
    if (bases.list == NULL)
        return;
    if (archive_bases(objects, timeline, add_base, &bases, &fault) != KX_OK)
        bases.count = 0;
    qsort(bases.list, bases.count, sizeof *bases.list, compare_bases);
    if (bases.count > keep)
        remove_before(objects, timeline, &bases, bases.count - keep);
    talloc_free(bases.list);
}
