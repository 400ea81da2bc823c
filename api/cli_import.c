/* kindex import: lines of entries into the store, in commits of a batch each,
 * several at a time. The state file keeps the place in the input before which
 * everything is stored. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_flight.h"
#include "cli_progress.h"
#include "path.h"

struct importing {
    struct cli *cli;
    FILE *in;
    char *line; /* getline's */
    size_t capacity;
    struct flight flight;
    struct cli_line_rules rules;
    struct kx_buffer prefix; /* JSON array */
    struct kx_buffer from;   /* encoded key; empty: from the first line */
    struct cli_progress progress;
    uint64_t at; /* place in the input */
    uint64_t whole;
    uint64_t lines;
    uint64_t expired;
    uint64_t noted_ns; /* when the state file was written */
    bool ended;
};

static const uint64_t NOTE_NS = 500000000;

/* ---- Where to begin ----------------------------------------------------- */

static bool encode_key(struct cli *cli, const char *text, struct kx_buffer *out)
{
    struct kx_buffer path;
    struct flaw flaw;
    kx_buffer_init(&path, cli->memory);
    cli_add_key(&path, text);
    if (path_read(cli_whole(&path), out, &flaw))
        return true;
    cli_misuse(cli, "%s: %s", text, flaw.detail);
    return false;
}

static bool read_keys(struct importing *importing)
{
    struct cli *cli = importing->cli;
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    kx_buffer_init(&importing->prefix, cli->memory);
    kx_buffer_init(&importing->from, cli->memory);
    if (cli->from_key != NULL &&
        !encode_key(cli, cli->from_key, &importing->from))
        return false;
    if (cli->prefix == NULL)
        return true;
    if (!encode_key(cli, cli->prefix, &key))
        return false;
    kx_key_to_json(kx_buffer_slice(&key), &importing->prefix);
    importing->rules.prefix =
        kx_slice(importing->prefix.data + 1, importing->prefix.size - 2);
    return true;
}

/* False when the input ends before the place. */
static bool skip_to(struct importing *importing, uint64_t place)
{
    while (importing->at < place) {
        ssize_t size =
            getline(&importing->line, &importing->capacity, importing->in);
        if (size < 0)
            return false;
        importing->at += (uint64_t)size;
        importing->lines++;
    }
    return importing->at == place;
}

static int read_place(const char *path, FILE *file, unsigned long long *place)
{
    bool read = fscanf(file, "%llu", place) == 1;
    if (ferror(file))
        return cli_fail("%s: %s", path, strerror(errno));
    return read ? CLI_OK : cli_fail("%s keeps no place of an import", path);
}

/* Lines before the place in the state file were stored by a former run. */
static int skip_stored(struct importing *importing, const char *path)
{
    unsigned long long place = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return errno == ENOENT ? CLI_OK
                               : cli_fail("%s: %s", path, strerror(errno));
    int status = read_place(path, file, &place);
    fclose(file);
    if (status == CLI_OK && !skip_to(importing, place))
        return cli_fail("%s does not belong to this input", path);
    return status;
}

/* The old file is there until the new one is whole. */
static bool write_state(const char *path, uint64_t place)
{
    char part[4096];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return false;
    FILE *file = fopen(part, "w");
    if (file == NULL)
        return false;
    bool written = fprintf(file, "%llu\n", (unsigned long long)place) > 0;
    written = fclose(file) == 0 && written;
    return written && rename(part, path) == 0;
}

static void note_place(struct importing *importing, bool now)
{
    const struct cli *cli = importing->cli;
    uint64_t time = kx_monotonic_ns();
    if (cli->state == NULL || cli->dry_run ||
        (!now && time - importing->noted_ns < NOTE_NS))
        return;
    importing->noted_ns = time;
    if (!write_state(cli->state,
                     flight_safe(&importing->flight, importing->at)))
        importing->flight.status =
            cli_fail("%s: %s", cli->state, strerror(errno));
}

/* ---- Lines -------------------------------------------------------------- */

/* Are lines still left out, because --from-key has not come? */
static bool before_from(struct importing *importing, struct kx_slice key)
{
    struct kx_buffer encoded;
    struct kx_fault fault;
    if (importing->from.size == 0)
        return false;
    kx_buffer_init(&encoded, importing->cli->memory);
    bool before = kx_key_from_json(key, &encoded, &fault) == KX_OK &&
                  kx_compare(kx_buffer_slice(&encoded),
                             kx_buffer_slice(&importing->from)) < 0;
    kx_buffer_free(&encoded);
    return before;
}

static void add_item(struct importing *importing, struct flight_slot *slot,
                     const struct cli_line_entry *entry)
{
    const uint8_t *base = slot->texts.data;
    slot->items[slot->count++] =
        (struct flight_item){.key = (size_t)(entry->key.data - base),
                             .key_size = entry->key.size,
                             .mutation = (size_t)(entry->mutation.data - base),
                             .mutation_size = entry->mutation.size,
                             .line = importing->lines};
}

static void take_line(struct importing *importing, struct flight_slot *slot,
                      struct kx_slice line)
{
    struct cli_line_entry entry;
    size_t size = slot->texts.size;
    switch (cli_line_read(line, &importing->rules, &slot->texts, &entry)) {
    case LINE_ENTRY:
        if (!before_from(importing, entry.key))
            add_item(importing, slot, &entry);
        else
            slot->texts.size = size;
        break;
    case LINE_EXPIRED:
        importing->expired++;
        break;
    case LINE_NOTHING:
        break;
    case LINE_BAD:
        importing->flight.status =
            cli_fail("line %llu is no entry: %s",
                     (unsigned long long)importing->lines, entry.reason);
        break;
    }
}

/* Reads lines until the batch is full. */
static void fill(struct importing *importing, struct flight_slot *slot)
{
    ssize_t size = 0;
    importing->rules.now_ms = kx_now_ms();
    while (importing->flight.status == CLI_OK &&
           slot->count < importing->cli->batch &&
           slot->texts.size < FLIGHT_BYTES_MAX &&
           (size = getline(&importing->line, &importing->capacity,
                           importing->in)) > 0) {
        importing->at += (uint64_t)size;
        importing->lines++;
        take_line(importing, slot,
                  kx_slice(importing->line,
                           (size_t)size - (importing->line[size - 1] == '\n')));
    }
    importing->ended = size < 0;
    if (size < 0 && ferror(importing->in))
        importing->flight.status = cli_fail("the input: %s", strerror(errno));
}

static void run(struct importing *importing)
{
    struct flight *flight = &importing->flight;
    while (flight->status == CLI_OK && !importing->ended) {
        struct flight_slot *slot = flight_filling(flight, importing->at);
        if (slot != NULL) {
            fill(importing, slot);
            if (flight->status == CLI_OK)
                flight_send(flight, slot);
        }
        flight_wait(flight, slot == NULL);
        note_place(importing, false);
        cli_progress_show(&importing->progress, flight->stored, importing->at,
                          importing->whole);
    }
    while (flight_busy(flight)) {
        flight_wait(flight, true);
        note_place(importing, false);
    }
    note_place(importing, true);
    cli_progress_clear(&importing->progress);
}

static void report(const struct importing *importing)
{
    const struct flight *flight = &importing->flight;
    double seconds = cli_progress_seconds(&importing->progress);
    fprintf(stderr, "%s %llu entries in %.1f s",
            importing->cli->dry_run ? "would import" : "imported",
            (unsigned long long)flight->stored, seconds);
    if (flight->kept > 0)
        fprintf(stderr, ", %llu were there already (--overwrite replaces them)",
                (unsigned long long)flight->kept);
    if (importing->expired > 0)
        fprintf(stderr, ", %llu had expired",
                (unsigned long long)importing->expired);
    fputc('\n', stderr);
}

static void tell_rest(const struct importing *importing)
{
    const struct flight *flight = &importing->flight;
    if (flight->status == CLI_OK || importing->cli->dry_run)
        return;
    if (importing->cli->state != NULL)
        fprintf(stderr, "  the same command goes on behind byte %llu\n",
                (unsigned long long)flight_safe(flight, importing->at));
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
    if (!flight_begin(&importing->flight, importing->cli, importing->cli->jobs))
        return cli_fail("memory ran out");
    cli_progress_begin(&importing->progress, "imported");
    run(importing);
    flight_end(&importing->flight);
    report(importing);
    tell_rest(importing);
    return importing->flight.status;
}

static FILE *open_input(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
}

int cli_import(struct cli *cli)
{
    struct importing importing = {.cli = cli, .rules = {.deno = cli->deno}};
    const char *path = cli->count > 0 ? cli->words[0] : cli->file;
    if (!read_keys(&importing))
        return CLI_MISUSE;
    importing.in = open_input(path);
    if (importing.in == NULL)
        return cli_fail("%s: %s", path, strerror(errno));
    int status = import_all(&importing);
    free(importing.line);
    if (importing.in != stdin)
        fclose(importing.in);
    return status;
}
