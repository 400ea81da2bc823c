/* Files that commands read and write. */
#include "cli/cli_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(FILE *file, const char *name, struct kx_buffer *out)
{
    char chunk[65536];
    size_t size;
    while (!out->failed && out->size <= CLI_INPUT_MAX &&
           (size = fread(chunk, 1, sizeof chunk, file)) > 0)
        kx_add(out, chunk, size);
    const char *error = ferror(file)                ? strerror(errno)
                        : out->failed               ? "memory ran out"
                        : out->size > CLI_INPUT_MAX ? "too large"
                                                    : NULL;
    if (error != NULL)
        cli_fail("%s: %s", name, error);
    return error == NULL;
}

bool cli_input(const char *path, struct kx_buffer *out)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return read_all(stdin, "standard input", out);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        cli_fail("%s: %s", path, strerror(errno));
        return false;
    }
    bool done = read_all(file, path, out);
    fclose(file);
    return done;
}

/* Files that commands write. */

static bool write_whole(FILE *file, struct kx_slice text)
{
    bool written = fwrite(text.data, 1, text.size, file) == text.size &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && written;
}

bool cli_file_replace(const char *path, struct kx_slice text)
{
    char part[4096];
    errno = ENAMETOOLONG;
    bool fits = snprintf(part, sizeof part, "%s.part", path) < (int)sizeof part;
    FILE *file = fits ? fopen(part, "w") : NULL;
    if (file != NULL && write_whole(file, text) && rename(part, path) == 0)
        return true;
    cli_fail("%s: %s", path, strerror(errno));
    return false;
}

/* ---- Output ------------------------------------------------------------- */

static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

/* Follows a link, so that the link stays and its target is replaced. */
static const char *find_target(struct cli_output_file *file)
{
    char *target = realpath(file->path, NULL);
    if (target == NULL || strlen(target) >= sizeof file->target) {
        free(target);
        return file->path;
    }
    snprintf(file->target, sizeof file->target, "%s", target);
    free(target);
    return file->target;
}

/* Locks the part for this process and empties it. Returns false with errno,
 * which is EBUSY if another process writes the part or has just renamed or
 * removed it. */
static bool own(const struct cli_output_file *file, int fd)
{
    struct stat mine, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
        stat(file->part, &there) == 0 && mine.st_ino == there.st_ino &&
        ftruncate(fd, 0) == 0)
        return true;
    errno = EBUSY;
    return false;
}

static int open_part(const struct cli_output_file *file, mode_t mode)
{
    int fd = open(file->part, O_WRONLY | O_CREAT, mode);
    if (fd < 0 || own(file, fd))
        return fd;
    close(fd);
    errno = EBUSY;
    return -1;
}

/* Returns the descriptor, or -1 with errno. */
static int open_path(struct cli_output_file *file, mode_t mode)
{
    if (is_special(file->path))
        return open(file->path, O_WRONLY);
    file->name = find_target(file);
    int size = snprintf(file->part, sizeof file->part, "%s.part", file->name);
    errno = ENAMETOOLONG;
    return size < (int)sizeof file->part ? open_part(file, mode) : -1;
}

bool cli_output_file_open(struct cli_output_file *file, const char *path,
                          mode_t mode)
{
    *file = (struct cli_output_file){.out = stdout, .path = "standard output"};
    if (path == NULL || strcmp(path, "-") == 0)
        return true;
    file->path = path;
    int fd = open_path(file, mode);
    file->out = fd < 0 ? NULL : fdopen(fd, "wb");
    if (file->out == NULL)
        cli_fail("%s: %s", path, strerror(errno));
    return file->out != NULL;
}

bool cli_output_file_write(struct cli_output_file *file, struct kx_slice bytes)
{
    if (fwrite(bytes.data, 1, bytes.size, file->out) == bytes.size)
        return true;
    if (file->error == 0)
        file->error = errno;
    return false;
}

static void note(struct cli_output_file *file, bool done)
{
    if (!done && file->error == 0)
        file->error = errno;
}

/* Renames the part if it is complete, otherwise removes or keeps it. All bytes
 * must be on disk. */
static void end_part(struct cli_output_file *file, bool whole)
{
    if (whole && file->error == 0)
        note(file, rename(file->part, file->name) == 0);
    if (file->error != 0 || (!whole && !file->keep))
        unlink(file->part);
}

int cli_output_file_end(struct cli_output_file *file, int status)
{
    bool part = file->part[0] != '\0';
    note(file, fflush(file->out) == 0);
    if (part && status == CLI_OK)
        note(file, fsync(fileno(file->out)) == 0);
    if (file->out != stdout)
        note(file, fclose(file->out) == 0);
    if (part)
        end_part(file, status == CLI_OK);
    if (file->error == 0)
        return status;
    return cli_fail("%s cannot be written: %s", file->path,
                    strerror(file->error));
}
