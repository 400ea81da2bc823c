/* Names of files that outlive a power cut. */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool names_sync(const char *path)
{
    char directory[PATH_MAX];
    int size = snprintf(directory, sizeof directory, "%s", path);
    if (size < 0 || (size_t)size >= sizeof directory) {
        errno = ENAMETOOLONG;
        return false;
    }
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory] = '\0';
    int fd = open(slash != NULL ? directory : ".",
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return done;
}
