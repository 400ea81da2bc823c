/* kindex engine copy: moves a store from a data directory into a database, or
 * back, without a server. Then every index is compared with its entries, before
 * success is reported. */
#include <stdio.h>

#include "cli/cli_progress.h"
#include "cli/commands/cli_check_indexes.h"

enum { COPY_CACHE_BYTES = 128 << 20 };

static void show_rows(void *context, uint64_t rows)
{
    cli_progress_show(context, rows, 0, 0);
}

int cli_engine_copy(struct cli *cli)
{
    struct kx_fault fault = {.detail = ""};
    struct kx_options options;
    struct cli_progress progress;
    struct kx_copy copy = {.from = cli->from,
                           .to = cli->copy_to,
                           .engine_password_file = cli->engine_password_file,
                           .engine_insecure = cli->engine_insecure,
                           .cache_bytes = COPY_CACHE_BYTES,
                           .progress = show_rows,
                           .context = &progress};
    if (copy.from == NULL || copy.to == NULL)
        return cli_misuse(cli, "--from and --to are needed: a data directory "
                               "and a database");
    if (kx_is_database(copy.from) == kx_is_database(copy.to))
        return cli_misuse(cli, "one of --from and --to must be a database, "
                               "postgresql://..., the other one a directory");
    cli_progress_begin(&progress, "rows copied");
    enum kx_status status = kx_copy_store(&copy, &fault);
    double seconds = cli_progress_seconds(&progress);
    cli_progress_clear(&progress);
    if (status != KX_OK)
        return cli_fail("%s", fault.detail);
    fprintf(stderr, "copied %llu rows in %.1f s\n",
            (unsigned long long)copy.rows, seconds);
    kx_options_default(&options);
    options.directory = copy.to;
    options.engine = kx_is_database(copy.to) ? copy.to : NULL;
    options.engine_password_file = copy.engine_password_file;
    options.engine_insecure = copy.engine_insecure;
    return cli_check_indexes(cli, &options);
}
