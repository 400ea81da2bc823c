/* kindex backup: GET /backup into a file. The bytes are checked as they are
 * written, and the file gets its name only when it is complete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_http.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_output_file.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"
#include "cli/commands/cli_key_file.h"

enum { MB = 1000000 };

struct backup_download {
    struct cli_output_file file;
    struct kx_backup_check *check;
    struct kx_encryption *encryption; /* NULL: it is not encrypted */
    struct kx_buffer sealed;          /* encrypted, and not yet written */
    struct kx_fault fault;
    struct cli_reply reply;
    struct cli_progress progress;
    uint64_t bytes;
};

/* Writes the bytes encrypted so far. `good` is false if encrypting them ran out
 * of memory. */
static bool write_sealed(struct backup_download *backup, bool good)
{
    bool written = good && cli_output_file_write(
                               &backup->file, kx_buffer_slice(&backup->sealed));
    kx_buffer_clear(&backup->sealed);
    if (!good)
        kx_fail(&backup->fault, KX_NO_MEMORY, "memory ran out");
    return written;
}

static bool write_bytes(struct backup_download *backup, struct kx_slice bytes)
{
    if (backup->encryption == NULL)
        return cli_output_file_write(&backup->file, bytes);
    return write_sealed(
        backup, kx_encrypt_add(backup->encryption, bytes, &backup->sealed));
}

static bool write_end(struct backup_download *backup)
{
    return backup->encryption == NULL ||
           write_sealed(backup,
                        kx_encrypt_end(backup->encryption, &backup->sealed));
}

static bool take_bytes(void *target, struct kx_slice bytes)
{
    struct backup_download *backup = target;
    if (kx_backup_check_add(backup->check, bytes, &backup->fault) != KX_OK ||
        !write_bytes(backup, bytes))
        return false;
    backup->bytes += bytes.size;
    cli_progress_show(&backup->progress,
                      kx_backup_check_bytes(backup->check) / MB,
                      kx_backup_check_bytes(backup->check),
                      strtoull(backup->reply.size, NULL, 10));
    return true;
}

static int fetch(struct cli *cli, struct backup_download *backup)
{
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/backup"),
                            .bytes = take_bytes,
                            .may_pause = true,
                            .target = backup};
    cli_progress_begin(&backup->progress, "MB saved");
    int status = cli_ask(cli, &call, &backup->reply);
    cli_progress_clear(&backup->progress);
    if (status != CLI_OK)
        return status;
    if (backup->file.error != 0)
        return CLI_ERROR;
    if (backup->fault.status == KX_OK)
        kx_backup_check_end(backup->check, &backup->fault);
    if (backup->fault.status != KX_OK)
        return cli_fail("the backup is not valid: %s", backup->fault.detail);
    return write_end(backup) ? CLI_OK : CLI_ERROR;
}

/* Begins to encrypt, if the options say so. */
static int begin_encryption(struct cli *cli, struct backup_download *backup)
{
    struct kx_public_key key;
    kx_buffer_init(&backup->sealed, cli->memory);
    if (cli->encrypt_to == NULL)
        return CLI_OK;
    int status = cli_read_public_key(cli->encrypt_to, &key);
    if (status != CLI_OK)
        return status;
    backup->encryption = kx_encrypt_begin(cli->memory, &key, &backup->sealed);
    return backup->encryption != NULL
               ? CLI_OK
               : cli_fail("%s: nothing can be encrypted for this key",
                          cli->encrypt_to);
}

/* The path of the file; NULL: standard output. */
static const char *path_of(const struct cli *cli)
{
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    return path == NULL || strcmp(path, "-") == 0 ? NULL : path;
}

static int print_link(struct cli *cli)
{
    struct cli_reply reply;
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/backup/tickets")};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    const char *address =
        cli_text(cli, kx_buffer_slice(&reply.body), "address");
    if (cli->form == CLI_JSON || address == NULL)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    else {
        cli_put(stdout, kx_text(cli->url));
        puts(address);
    }
    return CLI_OK;
}

int cli_backup(struct cli *cli)
{
    struct backup_download backup = {.bytes = 0};
    const char *path = path_of(cli);
    if (cli->link && cli->encrypt_to != NULL)
        return cli_misuse(cli, "--encrypt-to has no effect with --link: what "
                               "the address gives is not encrypted");
    if (cli->link)
        return print_link(cli);
    if (path == NULL && isatty(STDOUT_FILENO))
        return cli_misuse(
            cli, "a backup cannot be written to a terminal: name a file");
    backup.check = kx_backup_check_begin(cli->memory);
    if (backup.check == NULL)
        return cli_fail("memory ran out");
    int status = begin_encryption(cli, &backup);
    if (status != CLI_OK)
        return status;
    if (!cli_output_file_open(&backup.file, path, 0600))
        return CLI_ERROR;
    status = cli_output_file_end(&backup.file, fetch(cli, &backup));
    if (status == CLI_OK)
        fprintf(stderr, "saved %.1f MB, compressed to %.1f MB, in %.1f s\n",
                (double)kx_backup_check_bytes(backup.check) / MB,
                (double)backup.bytes / MB,
                cli_progress_seconds(&backup.progress));
    return status;
}
