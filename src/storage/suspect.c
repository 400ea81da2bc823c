/* The marker is an empty file: only its existence counts. */
#include "storage/suspect.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"

enum { PATH_BYTES = 4096 };

static bool path_of(const char *directory, char *out)
{
    int size = snprintf(out, PATH_BYTES, "%s/suspect", directory);
    return size > 0 && size < PATH_BYTES;
}

bool suspect_exists(const char *directory)
{
    char path[PATH_BYTES];
    return !path_of(directory, path) || access(path, F_OK) == 0 ||
           errno != ENOENT;
}

void suspect_mark(const char *directory)
{
    char path[PATH_BYTES];
    if (!path_of(directory, path))
        return;
    FILE *file = file_write(path, 0);
    if (file != NULL && fclose(file) == 0)
        (void)file_sync(path);
}

void suspect_clear(const char *directory)
{
    char path[PATH_BYTES];
    if (path_of(directory, path))
        unlink(path);
}
