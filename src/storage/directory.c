/* The file "format" has a decimal number and a line end. It is written under
 * another name and renamed, so that it never contains half a number. */
#include "storage/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/env.h"

enum { NUMBER_BYTES = 16 };

static enum kx_status file_fault(const char *path, struct kx_fault *fault)
{
    return kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", path, strerror(errno));
}

/* KX_ABSENT if there is no such file. */
static enum kx_status read_file(const char *path, unsigned long *number_out,
                                struct kx_fault *fault)
{
    char text[NUMBER_BYTES + 1] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return KX_ABSENT;
    ssize_t size = file < 0 ? -1 : read(file, text, NUMBER_BYTES);
    if (size < 0)
        file_fault(path, fault);
    if (file >= 0)
        close(file);
    if (size < 0)
        return KX_BAD_DIRECTORY;
    text[size] = '\0';
    if (format_number_read(text, number_out))
        return KX_OK;
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "%s does not hold the number of a data format; nothing was "
                   "changed",
                   path);
}

static bool write_whole(const char *path)
{
    char text[NUMBER_BYTES];
    int size = snprintf(text, sizeof text, "%d\n", FORMAT_NUMBER);
    int file =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, text, (size_t)size) == size;
    written = fdatasync(file) == 0 && written;
    return close(file) == 0 && written;
}

static enum kx_status write_file(const char *path, struct kx_fault *fault)
{
    char *part = talloc_asprintf(NULL, "%s.part", path);
    if (part == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    bool written =
        write_whole(part) && rename(part, path) == 0 && file_sync(path);
    talloc_free(part);
    return written ? KX_OK : file_fault(path, fault);
}

/* Sets *path_out to the file's path, without a talloc context, and *number_out
 * to its number. */
static enum kx_status look(const char *directory, char **path_out,
                           unsigned long *number_out, struct kx_fault *fault)
{
    *path_out = talloc_asprintf(NULL, "%s/format", directory);
    if (*path_out == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = read_file(*path_out, number_out, fault);
    return status == KX_OK && *number_out > FORMAT_NUMBER
               ? format_too_new(*number_out, fault)
               : status;
}

enum kx_status directory_format_look(const char *directory,
                                     struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    talloc_free(path);
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status directory_format_guard(const char *directory,
                                      struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    if (status == KX_ABSENT || (status == KX_OK && number < FORMAT_NUMBER))
        status = write_file(path, fault);
    talloc_free(path);
    return status;
}

/* ---- Markers ------------------------------------------------------------ */

/* A marker is an empty file: only its existence counts. */

enum { PATH_BYTES = 4096 };

/* False with errno if the directory's name is too long. */
static bool marker_path(const char *directory, const char *name, char *out)
{
    int size = snprintf(out, PATH_BYTES, "%s/%s", directory, name);
    errno = ENAMETOOLONG;
    return size > 0 && size < PATH_BYTES;
}

static bool write_marker(const char *path)
{
    FILE *file = file_write(path, 0);
    return file != NULL && fclose(file) == 0 && file_sync(path);
}

enum kx_status directory_complete_exists(const char *directory,
                                         struct kx_fault *fault)
{
    char path[PATH_BYTES];
    uint64_t size;
    return marker_path(directory, "complete", path)
               ? file_measure(path, &size, fault)
               : file_failed(directory, fault);
}

bool directory_complete_write(const char *directory)
{
    char path[PATH_BYTES];
    return marker_path(directory, "complete", path) && file_sync(path) &&
           write_marker(path);
}

bool directory_suspect_exists(const char *directory)
{
    char path[PATH_BYTES];
    return !marker_path(directory, "suspect", path) ||
           access(path, F_OK) == 0 || errno != ENOENT;
}

void directory_suspect_mark(const char *directory)
{
    char path[PATH_BYTES];
    if (marker_path(directory, "suspect", path))
        (void)write_marker(path);
}

void directory_suspect_clear(const char *directory)
{
    char path[PATH_BYTES];
    if (marker_path(directory, "suspect", path))
        unlink(path);
}

/* ---- Directories of others ---------------------------------------------- */

/* Decides by file names: a file that only a store has proves that the directory
 * is a store's, even beside other files. */

struct directory_look {
    const struct kx_options *options;
    bool has_store;
    char other[NAME_MAX + 1]; /* a file that is not a store's, or "" */
};

/* Returns whether only the directory of a store, or of an earlier store, has
 * this file. */
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

enum kx_status directory_foreign_look(const struct kx_options *options,
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
