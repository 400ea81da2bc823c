/* Names of an archive's objects, and lists of them. */
#include "backup/archive_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void archive_base_name(struct archive_base *base)
{
    snprintf(base->name, sizeof base->name,
             "base-%016" PRIx64 "-%010u-%013" PRId64 ".tar.zst", base->stamp,
             base->first_log, base->at_ms);
}

static int compare(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

int archive_compare_bases(const struct archive_base *left,
                          const struct archive_base *right)
{
    int order = compare(left->stamp, right->stamp);
    if (order == 0)
        order = compare(left->first_log, right->first_log);
    return order != 0 ? order
                      : compare((uint64_t)left->at_ms, (uint64_t)right->at_ms);
}

void archive_log_path(const char *timeline, uint32_t number, char *out)
{
    snprintf(out, ARCHIVE_PATH, "%s/log.%010u.zst", timeline, number);
}

void archive_tail_path(const char *timeline, uint32_t number, char *out)
{
    snprintf(out, ARCHIVE_PATH, "%s/log.%010u.tail", timeline, number);
}

uint32_t archive_log_number(const char *name)
{
    uint32_t number = 0;
    return sscanf(name, "log.%10" SCNu32, &number) == 1 ? number : 0;
}

static bool find_last(void *target, const struct kx_object *object)
{
    uint32_t *last = target;
    uint32_t number = archive_log_number(object->name);
    if (number > *last)
        *last = number;
    return true;
}

enum kx_status archive_last_log(const struct kx_object_store *objects,
                                const char *timeline, uint32_t *last_out,
                                struct kx_fault *fault)
{
    *last_out = 0;
    return objects->list(objects->self, timeline, find_last, last_out, fault);
}

/* Returns false unless the name is exactly what archive_base_name makes. */
static bool read_name(const char *name, struct archive_base *base)
{
    return sscanf(name, "base-%16" SCNx64 "-%10" SCNu32 "-%13" SCNd64,
                  &base->stamp, &base->first_log, &base->at_ms) == 3 &&
           (archive_base_name(base), strcmp(base->name, name) == 0);
}

struct visit {
    const struct kx_object_store *objects;
    const char *directory;
    archive_base_fn *each;
    void *target;
    struct kx_fault *fault;
    enum kx_status status; /* of the first timeline that cannot be listed */
};

static bool visit_file(void *target, const struct kx_object *object)
{
    struct visit *visit = target;
    struct archive_base base;
    if (!read_name(object->name, &base))
        return true;
    snprintf(base.timeline, sizeof base.timeline, "%s", visit->directory);
    visit->each(visit->target, &base);
    return true;
}

enum kx_status archive_bases(const struct kx_object_store *objects,
                             const char *timeline, archive_base_fn *each,
                             void *target, struct kx_fault *fault)
{
    struct visit visit = {
        .directory = timeline, .each = each, .target = target};
    return objects->list(objects->self, timeline, visit_file, &visit, fault);
}

/* Other files in the archive are ignored. */
static bool visit_timeline(void *target, const struct kx_object *object)
{
    struct visit *visit = target;
    const char *name = object->name;
    char timeline[ARCHIVE_PATH];
    snprintf(timeline, sizeof timeline, "%s/%s", visit->directory, name);
    if (name[0] == '.' || strcmp(name, "lost+found") == 0)
        return true;
    enum kx_status status = archive_bases(visit->objects, timeline, visit->each,
                                          visit->target, visit->fault);
    if (status != KX_ABSENT)
        visit->status = status;
    return visit->status == KX_OK;
}

enum kx_status archive_all_bases(const struct kx_object_store *objects,
                                 const char *archive, archive_base_fn *each,
                                 void *target, struct kx_fault *fault)
{
    struct visit visit = {objects, archive, each, target, fault, KX_OK};
    enum kx_status status =
        objects->list(objects->self, archive, visit_timeline, &visit, fault);
    return status == KX_OK ? visit.status : status;
}
