/* kindex backup: GET /backup into a file. The file has its name only when it is
 * complete: what comes is checked as it is written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

#include "cli_http.h"
#include "cli_progress.h"

enum { MB = 1000000 };

struct saving {
    FILE *out;
    const char *path; /* NULL: standard output */
    char part[4096];  /* its name until then */
    struct kx_backup_check *check;
    struct kx_fault fault;
    struct cli_reply reply;
    struct cli_progress progress;
    uint64_t bytes;
};

static bool take_bytes(void *target, struct kx_slice bytes)
{
    struct saving *saving = target;
    if (kx_backup_check_add(saving->check, bytes, &saving->fault) != KX_OK ||
        fwrite(bytes.data, 1, bytes.size, saving->out) != bytes.size)
        return false;
    saving->bytes += bytes.size;
    cli_progress_show(&saving->progress,
                      kx_backup_check_bytes(saving->check) / MB,
                      kx_backup_check_bytes(saving->check),
                      strtoull(saving->reply.size, NULL, 10));
    return true;
}

static int fetch(struct cli *cli, struct saving *saving)
{
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/backup"),
                            .bytes = take_bytes,
                            .target = saving};
    cli_progress_begin(&saving->progress, "MB saved");
    int status = cli_ask(cli, &call, &saving->reply);
    cli_progress_clear(&saving->progress);
    if (status != CLI_OK)
        return status;
    if (ferror(saving->out))
        return cli_fail("the backup cannot be written: %s", strerror(errno));
    if (saving->fault.status == KX_OK)
        kx_backup_check_end(saving->check, &saving->fault);
    if (saving->fault.status != KX_OK)
        return cli_fail("the backup is not right: %s", saving->fault.detail);
    return CLI_OK;
}

static bool open_output(struct saving *saving)
{
    saving->out = stdout;
    if (saving->path == NULL)
        return true;
    int size =
        snprintf(saving->part, sizeof saving->part, "%s.part", saving->path);
    int fd = size >= (int)sizeof saving->part
                 ? -1
                 : open(saving->part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    saving->out = fd < 0 ? NULL : fdopen(fd, "wb");
    return saving->out != NULL;
}

/* On disk before it has its name. */
static int finish(struct saving *saving, int status)
{
    bool written = fflush(saving->out) == 0;
    if (saving->path == NULL && !written)
        return cli_fail("standard output: %s", strerror(errno));
    if (saving->path == NULL)
        return status;
    written = written && fsync(fileno(saving->out)) == 0;
    written = fclose(saving->out) == 0 && written;
    if (status == CLI_OK && (!written || rename(saving->part, saving->path)))
        status = cli_fail("%s: %s", saving->path, strerror(errno));
    if (status != CLI_OK)
        unlink(saving->part);
    return status;
}

/* Where to; NULL: standard output. */
static const char *path_of(const struct cli *cli)
{
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    return path == NULL || strcmp(path, "-") == 0 ? NULL : path;
}

int cli_backup(struct cli *cli)
{
    struct saving saving = {.path = path_of(cli)};
    if (saving.path == NULL && isatty(STDOUT_FILENO))
        return cli_misuse(cli, "a backup is not for a terminal: name a file");
    saving.check = kx_backup_check_begin(cli->memory);
    if (saving.check == NULL)
        return cli_fail("memory ran out");
    if (!open_output(&saving))
        return cli_fail("%s: %s", saving.path, strerror(errno));
    int status = finish(&saving, fetch(cli, &saving));
    if (status == CLI_OK)
        fprintf(stderr, "saved %.1f MB, compressed to %.1f MB, in %.1f s\n",
                (double)kx_backup_check_bytes(saving.check) / MB,
                (double)saving.bytes / MB,
                cli_progress_seconds(&saving.progress));
    return status;
}
