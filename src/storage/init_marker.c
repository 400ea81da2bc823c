/* The marker is an empty file: only its existence counts. */
#include "storage/init_marker.h"

#include <errno.h>

#include "base/file.h"

enum { PATH_BYTES = 4096 };

/* False if the directory's name is too long. */
static bool path_of(const char *directory, char *out)
{
    int size = snprintf(out, PATH_BYTES, "%s/complete", directory);
    errno = ENAMETOOLONG;
    return size > 0 && size < PATH_BYTES;
}

enum kx_status init_marker_exists(const char *directory, struct kx_fault *fault)
{
    char path[PATH_BYTES];
    uint64_t size;
    return path_of(directory, path) ? file_measure(path, &size, fault)
                                    : file_failed(directory, fault);
}

bool init_marker_write(const char *directory)
{
    char path[PATH_BYTES];
    if (!path_of(directory, path) || !file_sync(path))
        return false;
    FILE *file = file_write(path, 0);
    return file != NULL && fclose(file) == 0 && file_sync(path);
}
