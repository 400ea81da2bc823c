/* The store is opened in this process, and its indexes are verified one after
 * the other. */
#include "cli/commands/cli_check_indexes.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli_progress.h"

enum { CACHE_BYTES = 64 << 20, LOOK_MS = 50 };

struct verifying {
    struct kx_store *store;
    struct kx_reader *reader;
    struct cli_progress progress;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool done;
    unsigned wrong; /* indexes that differ from their entries */
    size_t right;
    size_t unready; /* being built or failed, so not compared */
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

/* Copies the name of the n-th index, and the state of its verification if it
 * has one. False: no such index. */
static bool look(struct verifying *verifying, size_t n,
                 char name[KX_INDEX_NAME_MAX + 1], struct kx_verification *now)
{
    struct kx_index_info info;
    kx_read_begin(verifying->reader);
    bool found = kx_index_at(verifying->reader, n, &info) == KX_OK;
    if (found)
        snprintf(name, KX_INDEX_NAME_MAX + 1, "%.*s", (int)info.name.size,
                 (const char *)info.name.data);
    if (found && info.verification != NULL)
        *now = *info.verification;
    kx_read_end(verifying->reader);
    return found;
}

static void await(struct verifying *verifying, size_t n,
                  struct kx_verification *now)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * KX_MS_NS};
    char name[KX_INDEX_NAME_MAX + 1];
    while (look(verifying, n, name, now) && now->running) {
        cli_progress_show(&verifying->progress, now->done, now->done,
                          now->total);
        nanosleep(&pause, NULL);
    }
}

static void verify(struct verifying *verifying, size_t n, const char *name,
                   void *memory)
{
    struct kx_verification now = {.running = false};
    struct kx_commit commit = {.command.kind = KX_VERIFY_INDEX,
                               .command.index_name = kx_text(name),
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
    char name[KX_INDEX_NAME_MAX + 1];
    struct kx_verification now;
    cli_progress_begin(&verifying->progress, "verified");
    for (size_t n = 0; look(verifying, n, name, &now); n++)
        verify(verifying, n, name, cli->memory);
    cli_progress_clear(&verifying->progress);
    if (verifying->wrong == 0)
        report_indexes(verifying);
    return verifying->wrong == 0 ? CLI_OK : CLI_ERROR;
}

int cli_check_indexes(struct cli *cli, const struct kx_options *options)
{
    struct verifying verifying = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .answered = PTHREAD_COND_INITIALIZER};
    struct kx_options offline = *options;
    struct kx_fault fault;
    offline.cache_bytes = CACHE_BYTES;
    offline.disk_floor = 0;
    offline.unpaced = true;
    offline.answer = take_answer;
    offline.answer_context = &verifying;
    if (kx_open(&offline, &verifying.store, &fault) != KX_OK)
        return cli_fail("%s", fault.detail);
    int status = CLI_ERROR;
    if (kx_reader_open(verifying.store, &verifying.reader) == KX_OK) {
        status = verify_all(cli, &verifying);
        kx_reader_close(verifying.reader);
    }
    kx_close(verifying.store);
    return status;
}
