/* kindex restore: makes a data directory from a backup or an archive, on this
 * machine and without a server. Then every index is compared with its entries,
 * before success is reported. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli_progress.h"
#include "cli/commands/cli_check_indexes.h"
#include "cli/commands/cli_key_file.h"
#include "s3/s3.h"

enum { MB = 1000000 };

/* ---- The point ---------------------------------------------------------- */

/* Reads a fraction of a second as milliseconds, and moves *rest past it. */
static int read_fraction(const char **rest)
{
    int ms = 0;
    if ((*rest)[0] != '.' || !isdigit((unsigned char)(*rest)[1]))
        return 0;
    ++*rest;
    for (int worth = 100; isdigit((unsigned char)**rest); ++*rest, worth /= 10)
        ms += worth * (**rest - '0');
    return ms;
}

/* Reads a time in UTC; a date that does not exist is refused. */
static bool read_moment(const char *text, int64_t *ms_out)
{
    struct tm parts = {.tm_year = 0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int day = parts.tm_mday;
    if (rest == NULL)
        return false;
    int ms = read_fraction(&rest);
    *ms_out = (int64_t)timegm(&parts) * 1000 + ms;
    return strcmp(rest, "Z") == 0 && parts.tm_mday == day;
}

/* Reads a versionstamp or a time. 0 is refused, because in struct kx_restore it
 * means the end of the archive. */
static bool read_point(const char *text, struct kx_restore *restore)
{
    if (text == NULL)
        return true;
    if (kx_stamp_parse(kx_text(text), &restore->to_stamp))
        return restore->to_stamp != 0;
    return read_moment(text, &restore->to_ms) && restore->to_ms > 0;
}

/* ---- All of it ---------------------------------------------------------- */

static void report(const struct kx_restore *restore)
{
    char stamp[KX_STAMP_DIGITS + 1] = "";
    char moment[40] = "";
    time_t seconds = (time_t)(restore->at_ms / 1000);
    struct tm parts;
    kx_stamp_text(restore->stamp, stamp);
    if (restore->at_ms != 0)
        strftime(moment, sizeof moment, " of %Y-%m-%dT%H:%M:%SZ",
                 gmtime_r(&seconds, &parts));
    cli_note("restored %s up to versionstamp %s%s", restore->directory, stamp,
             moment);
}

/* Checks for options that exclude or need each other. Returns CLI_OK or
 * CLI_MISUSE. */
static int check_words(struct cli *cli)
{
    if ((cli->count > 0) == (cli->archive != NULL))
        return cli_misuse(cli, "name a backup, or an archive with --archive");
    if (cli->data == NULL)
        return cli_misuse(
            cli, "--data is missing: it names the directory to create");
    if (cli->to != NULL && cli->archive == NULL)
        return cli_misuse(cli, "--to needs --archive: a backup is one state");
    if (cli->decrypt_with != NULL && cli->archive != NULL)
        return cli_misuse(cli, "--decrypt-with is for a backup: an archive is "
                               "not encrypted");
    return CLI_OK;
}

/* Reads the arguments and options. Returns CLI_OK or CLI_MISUSE. */
static int read_words(struct cli *cli, struct kx_restore *restore)
{
    if (cli->count > 0 && cli->archive == NULL && s3_is_named(cli->words[0])) {
        cli->archive = cli->words[0];
        cli->count = 0;
    }
    int code = check_words(cli);
    if (code != CLI_OK)
        return code;
    restore->directory = cli->data;
    restore->source = cli->archive;
    if (cli->count > 0)
        restore->source =
            strcmp(cli->words[0], "-") == 0 ? "/dev/stdin" : cli->words[0];
    if (read_point(cli->to, restore))
        return CLI_OK;
    return cli_misuse(cli,
                      "--to: \"%s\" is neither a versionstamp nor a time such "
                      "as 2026-11-21T17:30:00Z",
                      cli->to);
}

static void show_read(void *context, uint64_t done, uint64_t whole)
{
    cli_progress_show(context, done / MB, done, whole);
}

/* Reads the key, or connects to the bucket. Returns CLI_OK or CLI_ERROR. */
static int open_source(const struct cli *cli, struct kx_restore *restore,
                       struct kx_secret_key *key)
{
    struct kx_fault fault = {.detail = ""};
    if (cli->decrypt_with != NULL) {
        restore->key = key;
        return cli_read_secret_key(cli->decrypt_with, key);
    }
    if (cli->archive == NULL || !s3_is_named(cli->archive))
        return CLI_OK;
    restore->objects = s3_open(cli->archive, &fault);
    return restore->objects != NULL ? CLI_OK : cli_fail("%s", fault.detail);
}

int cli_restore(struct cli *cli)
{
    struct cli_progress progress;
    struct kx_restore restore = {.progress = show_read, .context = &progress};
    struct kx_secret_key key;
    struct kx_options options;
    struct kx_fault fault = {.detail = ""};
    int code = read_words(cli, &restore);
    if (code != CLI_OK)
        return code;
    code = open_source(cli, &restore, &key);
    if (code != CLI_OK)
        return code;
    cli_progress_begin(&progress, "MB read");
    enum kx_status status = kx_restore(&restore, &fault);
    cli_progress_clear(&progress);
    s3_close(restore.objects);
    const char *why = fault.detail;
    if (status != KX_OK)
        return cli_fail("%s", *why != '\0' ? why : kx_status_title(status));
    report(&restore);
    kx_options_default(&options);
    options.directory = restore.directory;
    code = cli_check_indexes(cli, &options);
    if (!kx_restore_chown(restore.directory))
        return cli_fail("%s: its files could not be given to its owner: %s",
                        restore.directory, strerror(errno));
    return code;
}
