/* Files that commands write. */
#include "cli/cli_output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

/* Follows a link, so that the link stays and its target is replaced. */
static const char *find_target(struct cli_output_file *save)
{
    char *target = realpath(save->path, NULL);
    if (target == NULL || strlen(target) >= sizeof save->target) {
        free(target);
        return save->path;
    }
    snprintf(save->target, sizeof save->target, "%s", target);
    free(target);
    return save->target;
}

/* Locks the part for this process and empties it. False with errno EBUSY:
 * another process writes it, or has just renamed or removed it. */
static bool own(const struct cli_output_file *save, int fd)
{
    struct stat mine, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
        stat(save->part, &there) == 0 && mine.st_ino == there.st_ino &&
        ftruncate(fd, 0) == 0)
        return true;
    errno = EBUSY;
    return false;
}

static int open_part(const struct cli_output_file *save, mode_t mode)
{
    int fd = open(save->part, O_WRONLY | O_CREAT, mode);
    if (fd < 0 || own(save, fd))
        return fd;
    close(fd);
    errno = EBUSY;
    return -1;
}

/* Returns the descriptor, or -1 with errno. */
static int open_path(struct cli_output_file *save, mode_t mode)
{
    if (is_special(save->path))
        return open(save->path, O_WRONLY);
    save->name = find_target(save);
    int size = snprintf(save->part, sizeof save->part, "%s.part", save->name);
    errno = ENAMETOOLONG;
    return size < (int)sizeof save->part ? open_part(save, mode) : -1;
}

bool cli_output_file_open(struct cli_output_file *save, const char *path,
                          mode_t mode)
{
    *save = (struct cli_output_file){.out = stdout, .path = "standard output"};
    if (path == NULL || strcmp(path, "-") == 0)
        return true;
    save->path = path;
    int fd = open_path(save, mode);
    save->out = fd < 0 ? NULL : fdopen(fd, "wb");
    if (save->out == NULL)
        cli_fail("%s: %s", path, strerror(errno));
    return save->out != NULL;
}

bool cli_output_file_write(struct cli_output_file *save, struct kx_slice bytes)
{
    if (fwrite(bytes.data, 1, bytes.size, save->out) == bytes.size)
        return true;
    if (save->error == 0)
        save->error = errno;
    return false;
}

static void note(struct cli_output_file *save, bool done)
{
    if (!done && save->error == 0)
        save->error = errno;
}

/* The bytes are on disk already. Renames the part, or removes or keeps it. */
static void end_part(struct cli_output_file *save, bool whole)
{
    if (whole && save->error == 0)
        note(save, rename(save->part, save->name) == 0);
    if (save->error != 0 || (!whole && !save->keep))
        unlink(save->part);
}

int cli_output_file_end(struct cli_output_file *save, int status)
{
    bool part = save->part[0] != '\0';
    note(save, fflush(save->out) == 0);
    if (part && status == CLI_OK)
        note(save, fsync(fileno(save->out)) == 0);
    if (save->out != stdout)
        note(save, fclose(save->out) == 0);
    if (part)
        end_part(save, status == CLI_OK);
    if (save->error == 0)
        return status;
    return cli_fail("%s cannot be written: %s", save->path,
                    strerror(save->error));
}
