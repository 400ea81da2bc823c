/* kindex import: stores lines of entries in batches, one commit for each batch,
 * several concurrently. The state file has the place in the input up to which
 * all lines are stored, and a hash of the input up to there. A line waits while
 * another batch that has not been answered has a line with the same key: so the
 * last of such lines wins with --overwrite, and the first without it. After an
 * interrupt the lines already taken are stored, and no others.
 *
 * With --from the lines come from a Deno KV store. Each read of the store gives
 * the lines of one commit, and a commit is sent after the one before it has
 * been answered, so that versionstamps have the order of the store's versions.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bulk/cli_connect.h"
#include "cli/bulk/cli_interrupt.h"
#include "cli/bulk/cli_key_set.h"
#include "cli/bulk/cli_move.h"
#include "cli/bulk/cli_ndjson.h"
#include "cli/bulk/cli_pipeline.h"
#include "cli/bulk/cli_sqlite.h"
#include "cli/cli_files.h"
#include "cli/cli_progress.h"

/* One line: the byte in decimal, the hash in hexadecimal digits. */

static int read_place(const char *path, FILE *file,
                      struct cli_pipeline_place *place)
{
    bool read =
        fscanf(file, "%" SCNu64 " %" SCNx64, &place->at, &place->hash) == 2;
    if (ferror(file))
        return cli_fail("%s: %s", path, strerror(errno));
    return read ? CLI_OK
                : cli_fail("%s is not the state file of an import", path);
}

/* Reads `at` and `hash` of the place; if the file does not exist, sets the
 * beginning of the input. Returns CLI_OK, or CLI_ERROR after printing why. */
static int cli_import_state_read(const char *path,
                                 struct cli_pipeline_place *place)
{
    *place = (struct cli_pipeline_place){.hash = KX_HASH_START};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT ? CLI_OK
                               : cli_fail("%s: %s", path, strerror(errno));
    int status = read_place(path, file, place);
    fclose(file);
    return status;
}

/* Replaces the state file. Returns CLI_OK, or CLI_ERROR after printing why. */
static int cli_import_state_write(const char *path,
                                  const struct cli_pipeline_place *place)
{
    char line[64];
    snprintf(line, sizeof line, "%" PRIu64 " %016" PRIx64 "\n", place->at,
             place->hash);
    return cli_file_replace(path, kx_text(line)) ? CLI_OK : CLI_ERROR;
}

struct importing {
    struct cli *cli;
    struct cli_lines lines;
    struct cli_sqlite *store; /* with --from: where the lines come from */
    bool held; /* the next line waits until all batches are stored */
    struct cli_pipeline pipeline;
    struct cli_key_set keys;
    struct cli_ndjson_rules rules;
    struct kx_buffer prefix; /* JSON array */
    size_t prefix_size;      /* encoded bytes of the prefix */
    struct kx_buffer queue;  /* encoded prefix of jobs; empty: none */
    struct kx_buffer from;   /* encoded key; empty: from the first line */
    struct kx_buffer key;    /* encoded key of the current line */
    struct cli_progress progress;
    struct cli_pipeline_place place;  /* after the current line */
    struct cli_pipeline_place before; /* before the current line */
    uint64_t skipped;                 /* bytes stored by an earlier run */
    uint64_t whole; /* size of the input in bytes; 0: unknown */
    uint64_t expired;
    uint64_t noted_ns; /* when the state file was written */
    bool ended;
};

static const uint64_t NOTE_NS = 500000000;

/* With --from one commit is being sent while the next is filled. */
enum { STORE_JOBS = 2 };

/* ---- Where to begin ----------------------------------------------------- */

static bool read_keys(struct importing *importing)
{
    struct cli *cli = importing->cli;
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    kx_buffer_init(&importing->prefix, cli->memory);
    kx_buffer_init(&importing->from, cli->memory);
    kx_buffer_init(&importing->key, cli->memory);
    kx_buffer_init(&importing->queue, cli->memory);
    if (cli->queue_to != NULL &&
        !cli_read_prefix(cli, cli->queue_to, &importing->queue))
        return false;
    if (cli->from_key != NULL &&
        !cli_read_key(cli, cli->from_key, &importing->from))
        return false;
    if (cli->prefix == NULL)
        return true;
    if (!cli_read_prefix(cli, cli->prefix, &key))
        return false;
    importing->prefix_size = key.size;
    kx_key_to_json(kx_buffer_slice(&key), &importing->prefix);
    importing->rules.prefix =
        kx_slice(importing->prefix.data + 1, importing->prefix.size - 2);
    return true;
}

/* Takes the next line. False if no complete line has been read. */
static bool next_line(struct importing *importing, struct kx_slice *line_out)
{
    struct cli_pipeline_place *place = &importing->place;
    if (!cli_lines_next(&importing->lines, line_out))
        return false;
    importing->held = false;
    importing->before = *place;
    place->at += line_out->size;
    place->lines++;
    if (importing->cli->state != NULL)
        place->hash = kx_hash(place->hash, *line_out);
    return true;
}

/* Puts the current line back; next_line takes it again. */
static void hold_line(struct importing *importing, struct kx_slice line)
{
    cli_lines_back(&importing->lines, line);
    importing->place = importing->before;
    importing->held = true;
}

/* Reads more of the input. At its end, or after the message of a failure,
 * importing->ended is set. */
static void read_input(struct importing *importing)
{
    struct cli_lines *lines = &importing->lines;
    importing->ended = lines->ended;
    if (lines->ended || cli_lines_read(lines))
        return;
    importing->ended = true;
    importing->pipeline.status =
        importing->store != NULL ? CLI_ERROR
                                 : cli_fail("the input: %s", strerror(errno));
}

/* Skips the input up to the place. False: the input ends before the place, or
 * its hash differs, so it is another input. */
static bool skip_to(struct importing *importing,
                    const struct cli_pipeline_place *place)
{
    struct kx_slice line;
    while (importing->place.at < place->at && !importing->ended)
        if (!next_line(importing, &line))
            read_input(importing);
    importing->skipped = place->at;
    return importing->place.at == place->at &&
           importing->place.hash == place->hash;
}

/* Skips the lines that an earlier run has stored according to the state file.
 */
static int skip_stored(struct importing *importing, const char *path)
{
    struct cli_pipeline_place place;
    int status = cli_import_state_read(path, &place);
    if (status != CLI_OK || skip_to(importing, &place))
        return status;
    if (importing->pipeline.status != CLI_OK)
        return importing->pipeline.status;
    return cli_fail(
        "%s does not match this input, or the lines imported before have "
        "changed; remove it to import from the beginning",
        path);
}

static void note_place(struct importing *importing)
{
    const struct cli *cli = importing->cli;
    if (cli->state == NULL || cli->dry_run)
        return;
    importing->noted_ns = kx_monotonic_ns();
    struct cli_pipeline_place safe =
        cli_pipeline_stored(&importing->pipeline, &importing->place);
    int status = cli_import_state_write(cli->state, &safe);
    if (status != CLI_OK)
        importing->pipeline.status = status;
}

static void note_place_at_times(struct importing *importing)
{
    if (kx_monotonic_ns() - importing->noted_ns >= NOTE_NS)
        note_place(importing);
}

/* ---- Lines -------------------------------------------------------------- */

/* True if the key of the current line is before --from-key. */
static bool before_from(const struct importing *importing)
{
    return kx_compare(kx_buffer_slice(&importing->key),
                      kx_buffer_slice(&importing->from)) < 0;
}

static void add_item(struct importing *importing,
                     struct cli_pipeline_slot *slot,
                     const struct cli_ndjson_entry *entry)
{
    const uint8_t *base = slot->texts.data;
    slot->items[slot->count++] = (struct cli_pipeline_item){
        .key = (size_t)(entry->key.data - base),
        .key_size = entry->key.size,
        .mutation = (size_t)(entry->mutation.data - base),
        .mutation_size = entry->mutation.size,
        .line = importing->place.lines};
}

/* True if the entry and the item have the same key text. */
static bool same_key(const struct cli_pipeline_slot *slot, uint32_t item,
                     const struct cli_ndjson_entry *entry)
{
    return kx_equal(kx_slice(slot->texts.data + slot->items[item].key,
                             slot->items[item].key_size),
                    entry->key);
}

/* A dry run stores nothing, so it must remember all keys in order to find
 * repeated ones; with --overwrite a repeated key makes no difference. */
static bool keeps_keys(const struct importing *importing)
{
    return importing->cli->dry_run && !importing->cli->overwrite;
}

enum taken { TAKEN, LEFT_OUT, MUST_WAIT };

/* Within a batch the server applies mutations in the order of the lines, but
 * its checks do not see entries that the same batch stores, so a repeated key
 * may have to wait for another batch. The server refuses invalid keys. */
static enum taken take_entry(struct importing *importing,
                             struct cli_pipeline_slot *slot,
                             const struct cli_ndjson_entry *entry)
{
    struct kx_fault fault;
    const struct cli_key_note *first = NULL;
    importing->key.size = 0;
    if (kx_key_from_json(entry->key, &importing->key, &fault) == KX_OK) {
        if (before_from(importing))
            return LEFT_OUT;
        first = cli_key_set_note(&importing->keys,
                                 kx_buffer_slice(&importing->key), slot->count);
    }
    bool beside = first != NULL && first->batch == importing->keys.batch;
    if (first == NULL || (beside && importing->cli->overwrite)) {
        add_item(importing, slot, entry);
        return TAKEN;
    }
    if (!keeps_keys(importing) &&
        (!beside || !same_key(slot, first->item, entry)))
        return MUST_WAIT;
    importing->pipeline.kept++;
    return LEFT_OUT;
}

/* False if the line must wait until all batches sent are stored. */
static bool take_line(struct importing *importing,
                      struct cli_pipeline_slot *slot, struct kx_slice line)
{
    struct cli_ndjson_entry entry;
    size_t size = slot->texts.size;
    enum taken taken = TAKEN;
    switch (cli_ndjson_read(line, &importing->rules, &slot->texts, &entry)) {
    case LINE_ENTRY:
        taken = take_entry(importing, slot, &entry);
        break;
    case LINE_EXPIRED:
        importing->expired++;
        break;
    case LINE_NOTHING:
        break;
    case LINE_BAD:
        importing->pipeline.refused = true;
        importing->pipeline.status =
            cli_fail("line %llu is not an entry: %s",
                     (unsigned long long)importing->place.lines, entry.reason);
        break;
    }
    if (taken != TAKEN)
        slot->texts.size = size;
    return taken != MUST_WAIT;
}

static struct kx_slice without_end(struct kx_slice line)
{
    bool end = line.data[line.size - 1] == '\n';
    return kx_slice(line.data, line.size - end);
}

/* Processes answers until the input can be read without blocking, then reads
 * it. */
static void wait_for_input(struct importing *importing)
{
    if (importing->store != NULL || cli_lines_readable(&importing->lines))
        read_input(importing);
    else
        cli_pipeline_wait(&importing->pipeline, importing->lines.fd);
    note_place_at_times(importing);
}

static bool takes_lines(const struct importing *importing)
{
    return importing->pipeline.status == CLI_OK && !importing->ended &&
           !cli_interrupted();
}

/* True if the batch takes no further line. A batch of a store is full when the
 * lines of one read have been taken. */
static bool is_full(const struct importing *importing,
                    const struct cli_pipeline_slot *slot)
{
    if (importing->store != NULL)
        return slot->count > 0 &&
               importing->lines.at == importing->lines.bytes.size;
    return slot->count >= importing->cli->batch ||
           slot->texts.size >= CLI_PIPELINE_BYTES_MAX;
}

/* Takes lines until the batch is full or a line must wait. */
static void fill(struct importing *importing, struct cli_pipeline_slot *slot)
{
    struct kx_slice line;
    importing->rules.now_ms = kx_now_ms();
    while (takes_lines(importing) && !is_full(importing, slot)) {
        if (!next_line(importing, &line)) {
            wait_for_input(importing);
        } else if (!take_line(importing, slot, without_end(line))) {
            hold_line(importing, line);
            break;
        }
    }
}

static void wait_for_answers(struct importing *importing)
{
    while (cli_pipeline_busy(&importing->pipeline)) {
        cli_pipeline_wait(&importing->pipeline, -1);
        note_place_at_times(importing);
    }
}

/* Waits until all batches are answered. */
static void finish_batches(struct importing *importing)
{
    wait_for_answers(importing);
    cli_key_set_clear(&importing->keys);
}

/* Fills and sends a batch. */
static void send_lines(struct importing *importing,
                       struct cli_pipeline_slot *slot)
{
    struct cli_pipeline *pipeline = &importing->pipeline;
    fill(importing, slot);
    if (importing->store != NULL)
        wait_for_answers(importing);
    if (pipeline->status == CLI_OK)
        cli_pipeline_send(pipeline, slot);
    cli_key_set_next_batch(&importing->keys);
    bool full = cli_key_set_full(&importing->keys);
    if (full && keeps_keys(importing)) {
        if (!cli_key_set_grow(&importing->keys))
            pipeline->status = cli_fail("memory ran out");
    } else if (importing->held || full) {
        finish_batches(importing);
    }
}

static void run(struct importing *importing)
{
    struct cli_pipeline *pipeline = &importing->pipeline;
    while (takes_lines(importing)) {
        struct cli_pipeline_slot *slot =
            cli_pipeline_filling(pipeline, &importing->place);
        if (slot != NULL) {
            send_lines(importing, slot);
            cli_pipeline_poll(pipeline);
        } else {
            cli_pipeline_wait(pipeline, -1);
        }
        note_place_at_times(importing);
        cli_progress_show(&importing->progress, pipeline->stored,
                          importing->place.at, importing->whole);
    }
    finish_batches(importing);
    note_place(importing);
    cli_progress_clear(&importing->progress);
    if (pipeline->status == CLI_OK && !importing->ended) {
        cli_fail("interrupted");
        pipeline->status = CLI_INTERRUPTED;
    }
}

static void report(const struct importing *importing)
{
    const struct cli_pipeline *pipeline = &importing->pipeline;
    double seconds = cli_progress_seconds(&importing->progress);
    fprintf(stderr, "%s %llu entries in %.1f s",
            importing->cli->dry_run ? "would import" : "imported",
            (unsigned long long)pipeline->stored, seconds);
    if (pipeline->kept > 0)
        fprintf(stderr, ", %llu existed already (--overwrite replaces them)",
                (unsigned long long)pipeline->kept);
    if (importing->expired > 0)
        fprintf(stderr, ", %llu had expired",
                (unsigned long long)importing->expired);
    if (importing->skipped > 0)
        fprintf(stderr, "; an earlier run imported the first %llu bytes",
                (unsigned long long)importing->skipped);
    fputc('\n', stderr);
    if (importing->store != NULL)
        cli_sqlite_reader.report(importing->store);
}

/* Prints how the import can be continued. */
static void tell_rest(const struct importing *importing)
{
    const struct cli_pipeline *pipeline = &importing->pipeline;
    const struct cli *cli = importing->cli;
    unsigned long long line =
        cli_pipeline_stored(pipeline, &importing->place).lines + 1;
    if (pipeline->status == CLI_OK || cli->dry_run)
        return;
    if (pipeline->refused)
        fputs("  correct the input, then continue:\n", stderr);
    if (importing->store != NULL)
        fputs("  to continue, run the same command again, which leaves stored "
              "entries as they are\n",
              stderr);
    else if (cli->state != NULL)
        fprintf(stderr, "  the same command continues with line %llu\n", line);
    else if (line == 1)
        fputs("  to continue, run the same command again\n", stderr);
    else
        fprintf(stderr,
                "  all lines before line %llu are stored: to continue, begin "
                "with that line (tail -n +%llu)%s\n"
                "  with --state FILE the same command continues by itself\n",
                line, line,
                cli->overwrite
                    ? ""
                    : ", or run the same command again, which leaves "
                      "stored entries as they are");
}

static int import_all(struct importing *importing)
{
    struct stat about;
    if (importing->store == NULL && fstat(importing->lines.fd, &about) == 0 &&
        S_ISREG(about.st_mode))
        importing->whole = (uint64_t)about.st_size;
    const char *state = importing->cli->state;
    int status = state != NULL ? skip_stored(importing, state) : CLI_OK;
    if (status != CLI_OK)
        return status;
    if (!cli_key_set_begin(&importing->keys) ||
        !cli_pipeline_begin(&importing->pipeline, importing->cli,
                            importing->cli->jobs))
        return cli_fail("memory ran out");
    cli_progress_begin(&importing->progress, "imported");
    cli_interrupt_catch(SIGINT);
    run(importing);
    cli_pipeline_end(&importing->pipeline);
    report(importing);
    tell_rest(importing);
    return importing->pipeline.status;
}

/* Returns the descriptor, or -1 with errno. */
static int open_input(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0
               ? STDIN_FILENO
               : open(path, O_RDONLY | O_CLOEXEC);
}

/* Imports the store of --from. */
static int import_store(struct importing *importing, struct cli_sqlite *store)
{
    struct cli *cli = importing->cli;
    importing->store = store;
    cli_lines_begin(&importing->lines, -1, cli->memory);
    importing->lines.read = cli_sqlite_reader.read;
    importing->lines.store = store;
    int status = CLI_ERROR;
    if (cli_sqlite_reader.open(store, cli->from, cli->memory)) {
        store->batch = cli->batch;
        store->deno.prefix_size = importing->prefix_size;
        store->deno.names_next = !cli->discovers;
        kx_add_slice(&store->queue_prefix, kx_buffer_slice(&importing->queue));
        cli->jobs = STORE_JOBS;
        status = import_all(importing);
        if (status == CLI_OK && store->deno.left_out > 0 && !cli->discovers)
            status = CLI_ERROR;
    }
    cli_sqlite_reader.close(store);
    return status;
}

static int import_lines(struct importing *importing)
{
    struct cli *cli = importing->cli;
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    int fd = open_input(path);
    if (fd < 0)
        return cli_fail("%s: %s", path, strerror(errno));
    cli_lines_begin(&importing->lines, fd, cli->memory);
    int status = import_all(importing);
    if (fd != STDIN_FILENO)
        close(fd);
    return status;
}

static const char *misfit_of_address(const struct cli *cli)
{
    if (cli->from_key != NULL)
        return "--from-key does not go with --from ADDRESS";
    if (cli->queue_to != NULL)
        return "--queue-to needs a file: KV Connect shows no queue";
    return cli->finish && (cli->state == NULL || cli->overwrite)
               ? "--finish needs --state, and excludes --overwrite"
               : NULL;
}

/* A file is read as one snapshot, so an import of it is not continued. */
static const char *misfit_of_file(const struct cli *cli)
{
    if (cli->token_file != NULL || cli->finish)
        return "--token-file and --finish need --from ADDRESS";
    if (cli->from == NULL && cli->queue_to != NULL)
        return "--queue-to needs --from FILE";
    return cli->from != NULL && cli->state != NULL
               ? "--state with --from needs an address"
               : NULL;
}

/* Why the options do not fit together, or NULL. A store itself has the types
 * of its entries. */
static const char *misfit(const struct cli *cli, bool address)
{
    bool lines = cli->count > 0 || cli->file != NULL || cli->deno;
    if (cli->from != NULL && lines)
        return "--from takes the place of FILE, --file and --deno";
    return address ? misfit_of_address(cli) : misfit_of_file(cli);
}

int cli_import(struct cli *cli)
{
    struct cli_sqlite store;
    struct importing importing = {.cli = cli,
                                  .rules = {.deno = cli->deno},
                                  .place = {.hash = KX_HASH_START}};
    bool address = cli->from != NULL && cli_connect_names(cli->from);
    const char *wrong = misfit(cli, address);
    if (wrong != NULL)
        return cli_misuse(cli, "%s", wrong);
    if (address)
        return cli_move(cli);
    if (!read_keys(&importing))
        return CLI_MISUSE;
    int status = cli->from != NULL ? import_store(&importing, &store)
                                   : import_lines(&importing);
    cli_key_set_end(&importing.keys);
    return status;
}
