/* Names in an archive, and lists of them. */
#include "backup/archive_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

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

static bool find_last(void *target, const char *name)
{
    uint32_t *last = target;
    uint32_t number = 0;
    if (sscanf(name, "log.%10" SCNu32, &number) == 1 && number > *last)
        *last = number;
    return true;
}

bool archive_last_log(const char *timeline, uint32_t *last_out)
{
    *last_out = 0;
    return file_each(timeline, find_last, last_out);
}

/* False: it is not exactly the name that its figures make. */
static bool read_name(const char *name, struct archive_base *base)
{
    return sscanf(name, "base-%16" SCNx64 "-%10" SCNu32 "-%13" SCNd64,
                  &base->stamp, &base->first_log, &base->at_ms) == 3 &&
           (archive_base_name(base), strcmp(base->name, name) == 0);
}

struct visit {
    const char *directory;
    archive_base_fn *each;
    void *target;
};

static bool visit_file(void *target, const char *name)
{
    struct visit *visit = target;
    struct archive_base base;
    if (!read_name(name, &base))
        return true;
    snprintf(base.timeline, sizeof base.timeline, "%s", visit->directory);
    visit->each(visit->target, &base);
    return true;
}

bool archive_bases(const char *timeline, archive_base_fn *each, void *target)
{
    struct visit visit = {timeline, each, target};
    return file_each(timeline, visit_file, &visit);
}

/* Other files in the archive are ignored. */
static bool visit_timeline(void *target, const char *name)
{
    struct visit *visit = target;
    char timeline[ARCHIVE_PATH];
    snprintf(timeline, sizeof timeline, "%s/%s", visit->directory, name);
    return name[0] == '.' || strcmp(name, "lost+found") == 0 ||
           archive_bases(timeline, visit->each, visit->target) ||
           errno == ENOTDIR || errno == ENOENT;
}

bool archive_all_bases(const char *archive, archive_base_fn *each, void *target)
{
    struct visit visit = {archive, each, target};
    return file_each(archive, visit_timeline, &visit);
}
