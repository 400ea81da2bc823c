/* Names in an archive, and lists of them. */
#include "archive_files.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

void archive_base_name(struct archive_base *base)
{
    snprintf(base->name, sizeof base->name,
             "base-%016" PRIx64 "-%010u-%013" PRId64 ".tar.zst", base->stamp,
             base->first_log, base->at_ms);
}

void archive_log_path(const char *timeline, uint32_t number, char *out)
{
    snprintf(out, ARCHIVE_PATH, "%s/log.%010u.zst", timeline, number);
}

void archive_tail_path(const char *timeline, uint32_t number, char *out)
{
    snprintf(out, ARCHIVE_PATH, "%s/log.%010u.tail", timeline, number);
}

uint32_t archive_last_log(const char *timeline)
{
    uint32_t last = 0;
    struct dirent *file;
    DIR *files = opendir(timeline);
    while (files != NULL && (file = readdir(files)) != NULL) {
        uint32_t number = 0;
        if (sscanf(file->d_name, "log.%10" SCNu32, &number) == 1 &&
            number > last)
            last = number;
    }
    if (files != NULL)
        closedir(files);
    return last;
}

/* Only what has exactly the name that its figures make. */
static bool read_name(const char *name, struct archive_base *base)
{
    return sscanf(name, "base-%16" SCNx64 "-%10" SCNu32 "-%13" SCNd64,
                  &base->stamp, &base->first_log, &base->at_ms) == 3 &&
           (archive_base_name(base), strcmp(base->name, name) == 0);
}

void archive_bases(const char *timeline, archive_base_fn *each, void *target)
{
    struct archive_base base;
    struct dirent *file;
    DIR *files = opendir(timeline);
    snprintf(base.timeline, sizeof base.timeline, "%s", timeline);
    while (files != NULL && (file = readdir(files)) != NULL)
        if (read_name(file->d_name, &base))
            each(target, &base);
    if (files != NULL)
        closedir(files);
}

void archive_all_bases(const char *archive, archive_base_fn *each, void *target)
{
    struct dirent *file;
    DIR *files = opendir(archive);
    while (files != NULL && (file = readdir(files)) != NULL) {
        char timeline[ARCHIVE_PATH];
        if (file->d_name[0] == '.')
            continue;
        snprintf(timeline, sizeof timeline, "%s/%s", archive, file->d_name);
        archive_bases(timeline, each, target);
    }
    if (files != NULL)
        closedir(files);
}
