/* kindex import: stores lines of entries in batches, one commit for each batch,
 * several at a time. The state file has the place in the input up to which all
 * lines are stored, and a hash of the input up to there. A line waits if a line
 * with the same key is under way in another batch: so the last of them wins
 * with --overwrite, and the first without.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/bulk/cli_pipeline.h"
#include "cli/cli_progress.h"
#include "cli/bulk/cli_key_set.h"

struct importing {
    struct cli *cli;
    FILE *in;
    char *line; /* allocated by getline */
    size_t capacity;
    ssize_t held; /* size of a line that has been read and waits, or 0 */
    struct cli_pipeline pipeline;
    struct cli_key_set keys;
    struct cli_ndjson_rules rules;
    struct kx_buffer prefix; /* JSON array */
    struct kx_buffer from;   /* encoded key; empty: from the first line */
    struct kx_buffer key;    /* encoded key of the current line */
    struct cli_progress progress;
    struct cli_pipeline_place place; /* after the current line */
    uint64_t hash_before; /* hash of the input before the current line */
    uint64_t skipped;     /* bytes stored by an earlier run */
    uint64_t whole;       /* size of the input in bytes; 0: unknown */
    uint64_t lines;
    uint64_t expired;
    uint64_t noted_ns; /* when the state file was written */
    bool ended;
};

static const uint64_t NOTE_NS = 500000000;

/* ---- Where to begin ----------------------------------------------------- */

static bool read_keys(struct importing *importing)
{
    struct cli *cli = importing->cli;
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    kx_buffer_init(&importing->prefix, cli->memory);
    kx_buffer_init(&importing->from, cli->memory);
    kx_buffer_init(&importing->key, cli->memory);
    if (cli->from_key != NULL &&
        !cli_read_key(cli, cli->from_key, &importing->from))
        return false;
    if (cli->prefix == NULL)
        return true;
    if (!cli_read_key(cli, cli->prefix, &key))
        return false;
    kx_key_to_json(kx_buffer_slice(&key), &importing->prefix);
    importing->rules.prefix =
        kx_slice(importing->prefix.data + 1, importing->prefix.size - 2);
    return true;
}

/* Reads the next line and returns its size; negative at the end of the input.
 */
static ssize_t next_line(struct importing *importing)
{
    ssize_t size = importing->held;
    importing->held = 0;
    if (size == 0)
        size = getline(&importing->line, &importing->capacity, importing->in);
    if (size > 0) {
        importing->place.at += (uint64_t)size;
        importing->hash_before = importing->place.hash;
        importing->lines++;
    }
    if (size > 0 && importing->cli->state != NULL)
        importing->place.hash = kx_hash(
            importing->place.hash, kx_slice(importing->line, (size_t)size));
    return size;
}

/* Puts the current line back: next_line will return it again. */
static void hold_line(struct importing *importing, ssize_t size)
{
    importing->held = size;
    importing->place.at -= (uint64_t)size;
    importing->place.hash = importing->hash_before;
    importing->lines--;
}

/* Skips the input up to the place. False: the input ends before the place, or
 * its hash differs, so it is another input. */
static bool skip_to(struct importing *importing,
                    const struct cli_pipeline_place *place)
{
    while (importing->place.at < place->at)
        if (next_line(importing) < 0)
            return false;
    importing->skipped = place->at;
    return importing->place.at == place->at &&
           importing->place.hash == place->hash;
}

static int read_place(const char *path, FILE *file,
                      struct cli_pipeline_place *place)
{
    bool read =
        fscanf(file, "%" SCNu64 " %" SCNx64, &place->at, &place->hash) == 2;
    if (ferror(file))
        return cli_fail("%s: %s", path, strerror(errno));
    return read ? CLI_OK : cli_fail("%s keeps no place of an import", path);
}

/* Skips the lines that an earlier run has stored, by the state file. */
static int skip_stored(struct importing *importing, const char *path)
{
    struct cli_pipeline_place place;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT ? CLI_OK
                               : cli_fail("%s: %s", path, strerror(errno));
    int status = read_place(path, file, &place);
    fclose(file);
    if (status == CLI_OK && !skip_to(importing, &place))
        return cli_fail("%s does not belong to this input, or what it had of "
                        "it has changed; without that file the import begins "
                        "anew",
                        path);
    return status;
}

/* Writes a new file, then renames it over the old one. */
static bool write_state(const char *path,
                        const struct cli_pipeline_place *place)
{
    char part[4096];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return false;
    FILE *file = fopen(part, "w");
    if (file == NULL)
        return false;
    bool written = fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", place->at,
                           place->hash) > 0;
    written = fclose(file) == 0 && written;
    return written && rename(part, path) == 0;
}

static void note_place(struct importing *importing)
{
    const struct cli *cli = importing->cli;
    if (cli->state == NULL || cli->dry_run)
        return;
    importing->noted_ns = kx_monotonic_ns();
    struct cli_pipeline_place safe =
        cli_pipeline_stored(&importing->pipeline, &importing->place);
    if (!write_state(cli->state, &safe))
        importing->pipeline.status =
            cli_fail("%s: %s", cli->state, strerror(errno));
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
        .line = importing->lines};
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
 * its checks do not see entries that the same batch stores. The server refuses
 * an invalid key. */
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

/* False: the line must wait until all batches under way are stored. */
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
        importing->pipeline.status =
            cli_fail("line %llu is no entry: %s",
                     (unsigned long long)importing->lines, entry.reason);
        break;
    }
    if (taken != TAKEN)
        slot->texts.size = size;
    return taken != MUST_WAIT;
}

/* Reads lines until the batch is full or a line must wait. */
static void fill(struct importing *importing, struct cli_pipeline_slot *slot)
{
    ssize_t size = 0;
    importing->rules.now_ms = kx_now_ms();
    while (importing->pipeline.status == CLI_OK &&
           slot->count < importing->cli->batch &&
           slot->texts.size < CLI_PIPELINE_BYTES_MAX &&
           (size = next_line(importing)) > 0) {
        size_t text = (size_t)size - (importing->line[size - 1] == '\n');
        if (!take_line(importing, slot, kx_slice(importing->line, text))) {
            hold_line(importing, size);
            break;
        }
    }
    importing->ended = size < 0;
    if (size < 0 && ferror(importing->in))
        importing->pipeline.status = cli_fail("the input: %s", strerror(errno));
}

/* Waits until no batch is under way. */
static void settle(struct importing *importing)
{
    while (cli_pipeline_busy(&importing->pipeline)) {
        cli_pipeline_wait(&importing->pipeline);
        note_place_at_times(importing);
    }
    cli_key_set_clear(&importing->keys);
}

/* Fills and sends a batch. */
static void send_lines(struct importing *importing,
                       struct cli_pipeline_slot *slot)
{
    struct cli_pipeline *pipeline = &importing->pipeline;
    fill(importing, slot);
    if (pipeline->status == CLI_OK)
        cli_pipeline_send(pipeline, slot);
    cli_key_set_next_batch(&importing->keys);
    bool full = cli_key_set_full(&importing->keys);
    if (full && keeps_keys(importing)) {
        if (!cli_key_set_grow(&importing->keys))
            pipeline->status = cli_fail("memory ran out");
    } else if (importing->held > 0 || full) {
        settle(importing);
    }
}

static void run(struct importing *importing)
{
    struct cli_pipeline *pipeline = &importing->pipeline;
    while (pipeline->status == CLI_OK && !importing->ended) {
        struct cli_pipeline_slot *slot =
            cli_pipeline_filling(pipeline, &importing->place);
        if (slot != NULL) {
            send_lines(importing, slot);
            cli_pipeline_poll(pipeline);
        } else {
            cli_pipeline_wait(pipeline);
        }
        note_place_at_times(importing);
        cli_progress_show(&importing->progress, pipeline->stored,
                          importing->place.at, importing->whole);
    }
    settle(importing);
    note_place(importing);
    cli_progress_clear(&importing->progress);
}

static void report(const struct importing *importing)
{
    const struct cli_pipeline *pipeline = &importing->pipeline;
    double seconds = cli_progress_seconds(&importing->progress);
    fprintf(stderr, "%s %llu entries in %.1f s",
            importing->cli->dry_run ? "would import" : "imported",
            (unsigned long long)pipeline->stored, seconds);
    if (pipeline->kept > 0)
        fprintf(stderr, ", %llu were there already (--overwrite replaces them)",
                (unsigned long long)pipeline->kept);
    if (importing->expired > 0)
        fprintf(stderr, ", %llu had expired",
                (unsigned long long)importing->expired);
    if (importing->skipped > 0)
        fprintf(stderr, "; the %llu bytes before them were stored already",
                (unsigned long long)importing->skipped);
    fputc('\n', stderr);
}

static void tell_rest(const struct importing *importing)
{
    const struct cli_pipeline *pipeline = &importing->pipeline;
    if (pipeline->status == CLI_OK || importing->cli->dry_run)
        return;
    if (importing->cli->state != NULL)
        fprintf(
            stderr, "  the same command goes on behind byte %llu\n",
            (unsigned long long)cli_pipeline_stored(pipeline, &importing->place)
                .at);
    else
        fputs("  the same command stores what is missing; with --state FILE "
              "it goes on where it broke off\n",
              stderr);
}

static int import_all(struct importing *importing)
{
    struct stat about;
    if (fstat(fileno(importing->in), &about) == 0 && S_ISREG(about.st_mode))
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
    run(importing);
    cli_pipeline_end(&importing->pipeline);
    report(importing);
    tell_rest(importing);
    return importing->pipeline.status;
}

static FILE *open_input(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
}

int cli_import(struct cli *cli)
{
    struct importing importing = {.cli = cli,
                                  .rules = {.deno = cli->deno},
                                  .place = {.hash = KX_HASH_START}};
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    if (!read_keys(&importing))
        return CLI_MISUSE;
    importing.in = open_input(path);
    if (importing.in == NULL)
        return cli_fail("%s: %s", path, strerror(errno));
    int status = import_all(&importing);
    free(importing.line);
    cli_key_set_end(&importing.keys);
    if (importing.in != stdin)
        fclose(importing.in);
    return status;
}
