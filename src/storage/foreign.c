/* Decides by file names: a file that only a store has proves that the directory
 * is a store's, even beside other files. */
#include "storage/foreign.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "storage/env.h"
#include "base/file.h"

struct directory_look {
    const struct kx_options *options;
    bool has_store;
    char other[NAME_MAX + 1]; /* a file that is not a store's, or "" */
};

/* Returns whether only the directory of a store, or of a former one, has this
 * file. */
static bool is_of_store(const char *name)
{
    static const char *const NAMES[] = {"format",   "complete",  "restoring",
                                        "timeline", "backed-up", "suspect"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    for (int table = 0; table < TABLE_COUNT; table++)
        if (strcmp(name, table_file(table)) == 0)
            return true;
    return strncmp(name, "log.0", 5) == 0 || strncmp(name, "damaged-", 8) == 0;
}

/* Returns whether a file proves nothing: it belongs to an interrupted start, is
 * hidden, or is part of a file system's root. */
static bool proves_nothing(const char *name)
{
    static const char *const NAMES[] = {"lock",        "ballast",
                                        "next-log",    "next-log.part",
                                        "format.part", "lost+found"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    return name[0] == '.' || strncmp(name, "__db.", 5) == 0;
}

static bool is_same(const struct stat *about, const char *path)
{
    struct stat other;
    return path != NULL && stat(path, &other) == 0 &&
           about->st_dev == other.st_dev && about->st_ino == other.st_ino;
}

/* Returns whether the options name this file. */
static bool is_named(const struct kx_options *options, const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    int size = snprintf(path, sizeof path, "%s/%s", options->directory, name);
    if (size >= (int)sizeof path || stat(path, &about) != 0)
        return false;
    for (const char *const *at = options->beside; at != NULL && *at != NULL;
         at++)
        if (is_same(&about, *at))
            return true;
    return is_same(&about, options->archive);
}

static bool look_at(void *target, const char *name)
{
    struct directory_look *look = target;
    look->has_store = is_of_store(name);
    if (!look->has_store && !proves_nothing(name) &&
        !is_named(look->options, name))
        snprintf(look->other, sizeof look->other, "%s", name);
    return !look->has_store;
}

enum kx_status foreign_look(const struct kx_options *options,
                            struct kx_fault *fault)
{
    struct directory_look look = {.options = options};
    if (!file_each(options->directory, look_at, &look) || look.other[0] == '\0')
        return KX_OK;
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "data directory %s: it has other files, such as %s, and no "
                   "store; choose a directory that is new or empty",
                   options->directory, look.other);
}
