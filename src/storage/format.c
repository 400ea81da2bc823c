/* The file "format": a decimal number and a line end. It is written under
 * another name and renamed, so that it never contains half a number. */
#include "storage/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"

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
/* Returns the file's path, without a talloc context, and its number. */
/* The path of the file, under no talloc context, and its number. */
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

enum kx_status format_look(const char *directory, struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    talloc_free(path);
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status format_guard(const char *directory, struct kx_fault *fault)
{
    unsigned long number = 0;
    char *path;
    enum kx_status status = look(directory, &path, &number, fault);
    if (status == KX_ABSENT || (status == KX_OK && number < FORMAT_NUMBER))
        status = write_file(path, fault);
    talloc_free(path);
    return status;
}
