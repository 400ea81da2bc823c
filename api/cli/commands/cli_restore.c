/* kindex restore: makes a data directory from a backup or an archive, on this
 * machine and without a server. Then every index is compared with its entries,
 * before success is reported. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/cli_progress.h"
#include "kindex.h"

enum { CACHE_BYTES = 64 << 20, LOOK_MS = 50, MB = 1000000 };

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

/* ---- The indexes -------------------------------------------------------- */

struct verifying {
    struct kx_store *store;
    struct kx_reader *reader;
    struct cli_progress progress;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool done;
    unsigned wrong; /* indexes */
    size_t right;
    size_t unready; /* being built, or failed: nothing to compare */
};

static void take_answer(void *context, struct kx_ticket *first)
{
    struct verifying *verifying = context;
    (void)first;
    pthread_mutex_lock(&verifying->lock);
    verifying->done = true;
    pthread_cond_signal(&verifying->answered);
    pthread_mutex_unlock(&verifying->lock);
}

/* Submits a commit and waits for its answer. */
static enum kx_status carry_out(struct verifying *verifying,
                                struct kx_commit *commit)
{
    verifying->done = false;
    enum kx_status status = kx_submit(verifying->store, commit);
    if (status != KX_OK)
        return status;
    pthread_mutex_lock(&verifying->lock);
    while (!verifying->done)
        pthread_cond_wait(&verifying->answered, &verifying->lock);
    pthread_mutex_unlock(&verifying->lock);
    return commit->status;
}

/* Reads the n-th index. False: no such index. */
static bool look(struct verifying *verifying, size_t n,
                 struct kx_index_info *info, struct kx_verification *now)
{
    kx_read_begin(verifying->reader);
    bool found = kx_index_at(verifying->reader, n, info) == KX_OK;
    if (found && info->verification != NULL)
        *now = *info->verification;
    kx_read_end(verifying->reader);
    return found;
}

static void await(struct verifying *verifying, size_t n,
                  struct kx_verification *now)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * KX_MS_NS};
    struct kx_index_info info;
    while (look(verifying, n, &info, now) && now->running) {
        cli_progress_show(&verifying->progress, now->done, now->done,
                          now->total);
        nanosleep(&pause, NULL);
    }
}

static void verify(struct verifying *verifying, size_t n, void *memory)
{
    struct kx_index_info info;
    struct kx_verification now = {.running = false};
    look(verifying, n, &info, &now);
    char *name =
        talloc_strndup(memory, (const char *)info.name.data, info.name.size);
    struct kx_commit commit = {.command.kind = KX_VERIFY_INDEX,
                               .command.index_name =
                                   kx_text(name != NULL ? name : ""),
                               .memory = memory};
    enum kx_status status = carry_out(verifying, &commit);
    if (status == KX_INDEX_NOT_READY) {
        verifying->unready++;
        return;
    }
    if (status == KX_OK)
        await(verifying, n, &now);
    uint64_t damages =
        now.counts[KX_MISSING] + now.counts[KX_DANGLING] + now.counts[KX_STALE];
    if (status == KX_OK && !now.running && damages == 0) {
        verifying->right++;
        return;
    }
    verifying->wrong++;
    cli_progress_clear(&verifying->progress);
    cli_fail("index %s does not match its entries", name);
}

static void report_indexes(const struct verifying *verifying)
{
    fprintf(stderr, "%zu index%s verified", verifying->right,
            verifying->right == 1 ? "" : "es");
    if (verifying->unready > 0)
        fprintf(stderr, ", %zu not ready (see \"kindex index ls\")",
                verifying->unready);
    fputc('\n', stderr);
}

static int verify_all(struct cli *cli, struct verifying *verifying)
{
    struct kx_index_info info;
    struct kx_verification now;
    size_t n = 0;
    cli_progress_begin(&verifying->progress, "verified");
    for (; look(verifying, n, &info, &now); n++)
        verify(verifying, n, cli->memory);
    cli_progress_clear(&verifying->progress);
    if (verifying->wrong == 0)
        report_indexes(verifying);
    return verifying->wrong == 0 ? CLI_OK : CLI_ERROR;
}

static int check_indexes(struct cli *cli, const char *directory)
{
    struct verifying verifying = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .answered = PTHREAD_COND_INITIALIZER};
    struct kx_options options;
    struct kx_fault fault;
    kx_options_default(&options);
    options.directory = directory;
    options.cache_bytes = CACHE_BYTES;
    options.disk_floor = 0;
    options.unpaced = true;
    options.answer = take_answer;
    options.answer_context = &verifying;
    if (kx_open(&options, &verifying.store, &fault) != KX_OK)
        return cli_fail("%s", fault.detail);
    int status = CLI_ERROR;
    if (kx_reader_open(verifying.store, &verifying.reader) == KX_OK) {
        status = verify_all(cli, &verifying);
        kx_reader_close(verifying.reader);
    }
    kx_close(verifying.store);
    return status;
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
    fprintf(stderr, "restored %s up to versionstamp %s%s\n", restore->directory,
            stamp, moment);
}

/* Reads the arguments and options. CLI_OK or CLI_MISUSE. */
static int read_words(struct cli *cli, struct kx_restore *restore)
{
    if ((cli->count > 0) == (cli->archive != NULL))
        return cli_misuse(cli, "name a backup, or an archive with --archive");
    if (cli->data == NULL)
        return cli_misuse(
            cli, "--data is missing: it names the directory to create");
    if (cli->to != NULL && cli->archive == NULL)
        return cli_misuse(cli, "--to needs --archive: a backup is one state");
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

int cli_restore(struct cli *cli)
{
    struct cli_progress progress;
    struct kx_restore restore = {.progress = show_read, .context = &progress};
    struct kx_fault fault = {.detail = ""};
    int code = read_words(cli, &restore);
    if (code != CLI_OK)
        return code;
    cli_progress_begin(&progress, "MB read");
    enum kx_status status = kx_restore(&restore, &fault);
    cli_progress_clear(&progress);
    const char *why = fault.detail;
    if (status != KX_OK)
        return cli_fail("%s", *why != '\0' ? why : kx_status_title(status));
    report(&restore);
    code = check_indexes(cli, restore.directory);
    if (!kx_restore_chown(restore.directory))
        return cli_fail("%s: its files could not be given to its owner: %s",
                        restore.directory, strerror(errno));
    return code;
}
