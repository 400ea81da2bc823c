/* Removes the oldest bases, and the log files before the oldest base that is
 * kept. */
#include "backup/archive_prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "base/file.h"

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
    const char *timeline;
    uint32_t below;
};

static bool remove_log(void *target, const char *name)
{
    const struct logs *logs = target;
    char path[ARCHIVE_PATH];
    uint32_t number = 0;
    if (sscanf(name, "log.%10" SCNu32, &number) != 1 || number >= logs->below)
        return true;
    archive_log_path(logs->timeline, number, path);
    unlink(path);
    archive_tail_path(logs->timeline, number, path);
    unlink(path);
    return true;
}

/* Removes all log files below the first one of the oldest base. There may be
 * gaps; a file that could not be removed before is tried again. */
static void remove_logs(const char *timeline, uint32_t below)
{
    struct logs logs = {timeline, below};
    file_each(timeline, remove_log, &logs);
}

void archive_remove_old(const char *timeline, size_t keep)
{
    char path[2 * ARCHIVE_PATH];
    struct bases bases = {
        .list = talloc_array(NULL, struct archive_base, BASES_MAX)};
    if (bases.list == NULL)
        return;
    if (!archive_bases(timeline, add_base, &bases))
        bases.count = 0;
    qsort(bases.list, bases.count, sizeof *bases.list, compare_bases);
    size_t old = bases.count > keep ? bases.count - keep : 0;
    for (size_t i = 0; i < old; i++) {
        snprintf(path, sizeof path, "%s/%s", timeline, bases.list[i].name);
        unlink(path);
    }
    if (old > 0)
        remove_logs(timeline, bases.list[old].first_log);
    talloc_free(bases.list);
}
