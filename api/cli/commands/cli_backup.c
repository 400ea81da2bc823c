/* kindex backup: GET /backup into a file. The bytes are checked as they are
 * written, and the file gets its name only when it is complete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_http.h"
#include "cli/cli_progress.h"
#include "cli/cli_output_file.h"

enum { MB = 1000000 };

struct saving {
    struct cli_output_file save;
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
        !cli_output_file_write(&saving->save, bytes))
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
    if (saving->save.error != 0)
        return CLI_ERROR;
    if (saving->fault.status == KX_OK)
        kx_backup_check_end(saving->check, &saving->fault);
    if (saving->fault.status != KX_OK)
        return cli_fail("the backup is not right: %s", saving->fault.detail);
    return CLI_OK;
}

/* The path of the file; NULL: standard output. */
static const char *path_of(const struct cli *cli)
{
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    return path == NULL || strcmp(path, "-") == 0 ? NULL : path;
}

int cli_backup(struct cli *cli)
{
    struct saving saving = {.bytes = 0};
    const char *path = path_of(cli);
    if (path == NULL && isatty(STDOUT_FILENO))
        return cli_misuse(cli, "a backup is not for a terminal: name a file");
    saving.check = kx_backup_check_begin(cli->memory);
    if (saving.check == NULL)
        return cli_fail("memory ran out");
    if (!cli_output_file_open(&saving.save, path, 0600))
        return CLI_ERROR;
    int status = cli_output_file_end(&saving.save, fetch(cli, &saving));
    if (status == CLI_OK)
        fprintf(stderr, "saved %.1f MB, compressed to %.1f MB, in %.1f s\n",
                (double)kx_backup_check_bytes(saving.check) / MB,
                (double)saving.bytes / MB,
                cli_progress_seconds(&saving.progress));
    return status;
}
