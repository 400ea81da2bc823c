/* kindex backup, keygen, restore and engine copy. All but backup need no
 * server. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_http.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"
#include "kindex.h"
#include "s3/s3.h"

/* ---- Verifying the indexes of a store ----------------------------------- */

/* The store is opened in this process, and its indexes are verified one after
 * the other. */

enum { CACHE_BYTES = 64 << 20, LOOK_MS = 50, MB = 1000000 };

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

/* Opens the store that the options name and compares every index with its
 * entries. Prints the number of indexes to standard error. Returns CLI_OK, or
 * CLI_ERROR after printing why: the store cannot be opened, or an index
 * differs. */
static int cli_check_indexes(struct cli *cli, const struct kx_options *options)
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

/* ---- keygen: a pair of keys for encrypted backups, in two files --------- */

/* A file has one key, as one line of text. */

enum { PATH_SIZE = 4096, KEY_FILE_MAX = 1024 };

/* Reads at most KEY_FILE_MAX bytes. False: errno. */
static bool read_file(const char *path, char *text, size_t *size_out)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return false;
    *size_out = fread(text, 1, KEY_FILE_MAX, file);
    bool read = !ferror(file);
    fclose(file);
    return read;
}

/* Read a key file into *out. Return CLI_OK, or CLI_ERROR after printing why:
 * the file cannot be read, or does not hold a key of this kind. */
static int cli_read_public_key(const char *path, struct kx_public_key *out)
{
    char text[KEY_FILE_MAX];
    size_t size;
    if (!read_file(path, text, &size))
        return cli_fail("%s: %s", path, strerror(errno));
    if (kx_public_key_read(kx_slice(text, size), out))
        return CLI_OK;
    return cli_fail("%s is not the file of a public key, which kindex keygen "
                    "makes with the ending .pub",
                    path);
}

static int cli_read_secret_key(const char *path, struct kx_secret_key *out)
{
    char text[KEY_FILE_MAX];
    size_t size;
    if (!read_file(path, text, &size))
        return cli_fail("%s: %s", path, strerror(errno));
    if (kx_secret_key_read(kx_slice(text, size), out))
        return CLI_OK;
    return cli_fail("%s is not the file of a secret key, which kindex keygen "
                    "makes",
                    path);
}

/* Never overwrites a file: its key may be the only one that decrypts a backup.
 */
static bool write_new(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return false;
    size_t size = strlen(text);
    bool done = write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    int error = errno;
    close(fd);
    if (!done)
        unlink(path);
    errno = error;
    return done;
}

int cli_keygen(struct cli *cli)
{
    struct kx_secret_key secret;
    struct kx_public_key public;
    char public_path[PATH_SIZE], text[KX_KEY_TEXT];
    const char *path = cli->words[0];
    snprintf(public_path, sizeof public_path, "%s.pub", path);
    if (!kx_keys_make(&secret, &public))
        return cli_fail("the system has no random numbers");
    kx_secret_key_write(&secret, text);
    if (!write_new(path, text, 0600))
        return cli_fail("%s: %s", path, strerror(errno));
    kx_public_key_write(&public, text);
    if (!write_new(public_path, text, 0644)) {
        int error = errno;
        unlink(path);
        return cli_fail("%s: %s", public_path, strerror(error));
    }
    cli_note("%s encrypts backups (kindex backup --encrypt-to). %s is the only "
             "key that reads them: keep it on another machine",
             public_path, path);
    return CLI_OK;
}

/* ---- backup ------------------------------------------------------------- */

/* GET /backup into a file. The bytes are checked as they are written, and the
 * file gets its name only when it is complete. */
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

/* ---- restore ------------------------------------------------------------ */

/* Makes a data directory from a backup or an archive, on this
 * machine and without a server. Then every index is compared with its entries,
 * before success is reported. */

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

/* ---- promote ------------------------------------------------------------ */

enum { PROMOTE_LOOK_US = 100000 };

static void note_piece(uint64_t piece, uint64_t wait_ms)
{
    cli_note("took piece %llu of the archive; waiting %.1f s for the lease of "
             "the server that was followed",
             (unsigned long long)piece, (double)wait_ms / 1000);
}

/* Takes the number, and reads the archive, in this process. */
static enum kx_status promote_joined(struct kx_store *store, bool now,
                                     struct kx_fault *fault)
{
    struct kx_promotion promotion = {.state = KX_PROMOTING_NOT};
    bool noted = false;
    char detail[KX_DETAIL_MAX] = "";
    while (promotion.state != KX_PROMOTING_DONE) {
        kx_promote_begin(store, now, &promotion);
        if (promotion.state == KX_PROMOTING_FAILED) {
            *fault = promotion.fault;
            return KX_FAILED;
        }
        if (promotion.state == KX_PROMOTING_WAITS && !noted)
            note_piece(promotion.number, promotion.wait_ms);
        noted = noted || promotion.state == KX_PROMOTING_WAITS;
        if (strcmp(detail, promotion.fault.detail) != 0)
            cli_note("%s", promotion.fault.detail);
        snprintf(detail, sizeof detail, "%s", promotion.fault.detail);
        usleep(PROMOTE_LOOK_US);
    }
    return KX_OK;
}

/* An empty directory would be restored from the archive. */
static bool is_standby_directory(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/following", directory);
    return access(path, F_OK) == 0;
}

static enum kx_status promote_from_archive(const struct cli *cli,
                                           struct kx_fault *fault)
{
    struct kx_store *store = NULL;
    struct kx_options options;
    enum kx_status status = KX_OK;
    if (!is_standby_directory(cli->data))
        return kx_fail(fault, KX_ABSENT, "%s does not follow an archive",
                       cli->data);
    kx_options_default(&options);
    options.directory = cli->data;
    options.follow = cli->archive;
    if (s3_is_named(cli->archive)) {
        options.objects = s3_open(cli->archive, fault);
        if (options.objects == NULL)
            return KX_FAILED;
    }
    status = kx_join(&options, &store, fault);
    if (status == KX_OK)
        status = promote_joined(store, cli->now, fault);
    kx_close(store);
    s3_close(options.objects);
    return status;
}

static int promote_directory(struct cli *cli)
{
    struct kx_fault fault = {.detail = ""};
    uint64_t stamp = 0;
    enum kx_status status = KX_OK;
    if (cli->archive != NULL)
        status = promote_from_archive(cli, &fault);
    else
        cli_note("without --archive nothing stops the server that was "
                 "followed");
    if (status == KX_OK || status == KX_END)
        status = kx_promote(cli->data, &stamp, &fault);
    if (status != KX_OK)
        return cli_fail("%s", fault.detail[0] != '\0'
                                  ? fault.detail
                                  : kx_status_title(status));
    fprintf(stderr, "promoted %s at versionstamp %016llx0000\n", cli->data,
            (unsigned long long)stamp);
    return CLI_OK;
}

/* Prints a state once. Returns CLI_OK to continue. */
static int show_promotion(const struct cli *cli, struct kx_slice document,
                          char *last, size_t size)
{
    const char *state = cli_text(cli, document, "state");
    const char *detail = cli_text(cli, document, "detail");
    if (state == NULL || strcmp(state, last) == 0)
        return CLI_OK;
    snprintf(last, size, "%s", state);
    if (strcmp(state, "failed") == 0)
        return cli_fail("%s", detail != NULL ? detail : "it failed");
    if (strcmp(state, "waits") == 0)
        note_piece(cli_number(document, "piece"),
                   cli_number(document, "waitMs"));
    return CLI_OK;
}

/* The state of a promotion in its last answer. */
struct asked {
    char state[16];       /* "": not yet */
    uint64_t answered_ns; /* kx_monotonic_ns of that answer */
    bool done;            /* the server is no standby any more */
};

/* Sends the request once. Returns CLI_OK to continue. */
static int ask_promotion(struct cli *cli, const struct cli_call *call,
                         struct asked *asked)
{
    struct cli_reply reply;
    int status = cli_send(cli, call, &reply);
    if (status != CLI_OK)
        return call->quiet ? CLI_OK : status;
    if (reply.status == 202)
        asked->answered_ns = kx_monotonic_ns();
    asked->done = reply.status == 409 && asked->state[0] != '\0';
    if (reply.status == 202 && cli_is_json(&reply))
        status = show_promotion(cli, kx_buffer_slice(&reply.body), asked->state,
                                sizeof asked->state);
    else if (!asked->done && !call->quiet)
        status = cli_problem(cli, &reply);
    kx_buffer_free(&reply.body);
    return status;
}

/* The standby restarts at the end: it cannot be reached for a moment, at most
 * for cli->timeout_ms, then it is no standby any more. */
static int promote_running(struct cli *cli)
{
    struct asked asked = {.state = ""};
    struct cli_call call = {
        .method = "POST",
        .path = kx_text(cli->now ? "/promote?now=true" : "/promote")};
    int status = CLI_OK;
    while (status == CLI_OK && !asked.done) {
        call.quiet =
            asked.state[0] != '\0' &&
            kx_monotonic_ns() - asked.answered_ns < cli->timeout_ms * KX_MS_NS;
        status = ask_promotion(cli, &call, &asked);
        if (status == CLI_OK && !asked.done)
            usleep(PROMOTE_LOOK_US);
    }
    if (asked.done)
        cli_note("promoted: %s is the server now", cli->url);
    return status;
}

int cli_promote(struct cli *cli)
{
    if (cli->data != NULL)
        return promote_directory(cli);
    return cli->archive != NULL
               ? cli_misuse(cli, "--archive needs --data: the data directory "
                                 "of a standby that does not run")
               : promote_running(cli);
}

/* ---- engine copy -------------------------------------------------------- */

/* Moves a store from a data directory into a database, or
 * back, without a server. Then every index is compared with its entries, before
 * success is reported. */

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
