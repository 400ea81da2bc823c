/* kindex export: entries as lines, in the order in which the server sends them.
 * Index entries are left out, because declaring the indexes again creates them.
 */
#include "cli/cli_lists.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/bulk/cli_interrupt.h"
#include "cli/bulk/cli_ndjson.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_files.h"
#include "cli/cli_terminal.h"

struct exporting {
    struct cli *cli;
    struct cli_output_file file;
    struct cli_progress progress;
    struct kx_slice names[KX_INDEXES_MAX]; /* of the indexes, JSON texts */
    size_t name_count;
    struct kx_buffer line;  /* for Deno */
    struct kx_buffer shown; /* for a terminal */
    uint64_t count;
    uint64_t seen;  /* entries received, including those left out */
    uint64_t whole; /* expected value of seen at the end; 0: unknown */
    bool interrupted;
};

static void take_index(const struct cli *cli, void *target,
                       struct kx_slice index)
{
    struct exporting *exporting = target;
    size_t *count = &exporting->name_count;
    (void)cli;
    if (*count < KX_INDEXES_MAX)
        *count += cli_json_member(index, "name", &exporting->names[*count]);
}

/* True if the key belongs to an index. Index names have no escapes in JSON, so
 * the first part is compared as text. */
static bool of_index(const struct exporting *exporting, struct kx_slice entry)
{
    struct kx_json_iter iter;
    struct kx_slice key, name, part;
    if (!cli_json_member(entry, "key", &key) || !kx_json_iterate(key, &iter) ||
        !kx_json_next(&iter, &name, &part))
        return false;
    for (size_t i = 0; i < exporting->name_count; i++)
        if (kx_equal(part, exporting->names[i]))
            return true;
    return false;
}

static bool put_line(struct exporting *exporting, struct kx_slice line)
{
    line = cli_shown(exporting->file.out, line, &exporting->shown);
    return !exporting->shown.failed &&
           cli_output_file_write(&exporting->file, line) &&
           cli_output_file_write(&exporting->file, kx_text("\n"));
}

static bool take_entry(void *target, struct kx_slice entry)
{
    struct exporting *exporting = target;
    const struct cli *cli = exporting->cli;
    exporting->interrupted = cli_interrupted();
    if (exporting->interrupted)
        return false;
    exporting->seen++;
    if (of_index(exporting, entry))
        return true;
    if (cli->deno) {
        exporting->line.size = 0;
        cli_ndjson_to_deno(entry, &exporting->line);
        entry = kx_buffer_slice(&exporting->line);
    }
    if (exporting->line.failed || !put_line(exporting, entry))
        return false;
    exporting->count++;
    cli_progress_show(&exporting->progress, exporting->count, exporting->seen,
                      exporting->whole);
    return cli->limit == 0 || exporting->count < cli->limit;
}

/* The expected number of entries, for the progress line; 0 if the request
 * fails. */
static uint64_t count_whole(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    bool reverse = cli->reverse;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/count");
    cli->reverse = false; /* the count does not depend on it */
    cli_add_selection(cli, &path);
    cli->reverse = reverse;
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    if (cli_send(cli, &call, &reply) != CLI_OK || reply.status != 200 ||
        !cli_is_json(&reply))
        return 0;
    uint64_t whole = cli_number(kx_buffer_slice(&reply.body), "count");
    return cli->limit > 0 && cli->limit < whole ? cli->limit : whole;
}

static int export_all(struct exporting *exporting)
{
    struct kx_buffer path;
    struct cli *cli = exporting->cli;
    if (cli->from_key != NULL)
        cli->start = cli->from_key;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list");
    cli_add_selection(cli, &path);
    cli_add_parameter(&path, "verbose", cli->leases ? "true" : NULL);
    cli_progress_begin(&exporting->progress, "exported");
    exporting->progress.terminal &= !isatty(fileno(exporting->file.out));
    if (exporting->progress.terminal)
        exporting->whole = count_whole(cli);
    cli_interrupt_catch(SIGINT);
    int status = cli_entries(cli, cli_whole(&path), take_entry, exporting);
    cli_progress_clear(&exporting->progress);
    if (exporting->interrupted) {
        cli_fail("interrupted");
        return CLI_INTERRUPTED;
    }
    if (status == CLI_OK && exporting->line.failed)
        return cli_fail("memory ran out");
    return status;
}

/* Prints the number of exported entries. After a failure it prints how to
 * continue the export: the incomplete file does not have its final name. */
static void report(const struct exporting *exporting, int status)
{
    const struct cli_output_file *file = &exporting->file;
    if (file->error != 0 || (status != CLI_OK && exporting->count == 0))
        return;
    fprintf(stderr, "exported %llu entries in %.1f s\n",
            (unsigned long long)exporting->count,
            cli_progress_seconds(&exporting->progress));
    if (status != CLI_OK)
        cli_note("  %s is incomplete; to continue, use --from-key with the "
                 "last key in it, and another file",
                 *file->part != '\0' ? file->part : file->path);
}

/* Refuses options with which a continued export would overwrite the incomplete
 * file. */
static int check_options(struct cli *cli)
{
    char part[4096];
    if (cli->from_key == NULL)
        return CLI_OK;
    if (cli->reverse)
        return cli_misuse(cli, "--from-key continues in the order of the keys, "
                               "which excludes --reverse");
    if (cli->file == NULL ||
        snprintf(part, sizeof part, "%s.part", cli->file) >= (int)sizeof part ||
        access(part, F_OK) != 0)
        return CLI_OK;
    return cli_fail("%s has the entries of an incomplete export: name another "
                    "file for the following ones, or rename it",
                    part);
}

int cli_export(struct cli *cli)
{
    struct exporting exporting = {.cli = cli};
    kx_buffer_init(&exporting.line, cli->memory);
    kx_buffer_init(&exporting.shown, cli->memory);
    int status = check_options(cli);
    if (status == CLI_OK && !cli->all)
        status = cli_pages(cli, kx_text("/indexes"), "indexes", take_index,
                           &exporting);
    if (status != CLI_OK)
        return status;
    if (!cli_output_file_open(&exporting.file, cli->file, 0600))
        return CLI_ERROR;
    status = export_all(&exporting);
    exporting.file.keep = exporting.count > 0;
    status = cli_output_file_end(&exporting.file, status);
    report(&exporting, status);
    return status;
}
