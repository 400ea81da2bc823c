/* A log file of the archive is copied as far as the archive has it, and read
 * from where the last copy ended. Only the thread changes rows; readers stay
 * outside while it applies a batch (storage/bdb_engine.h). It flushes after the
 * last batch that it has found: what a crash loses is read again. */
#include "backup/archive_follow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/archive_fence.h"
#include "backup/archive_names.h"
#include "backup/object_dir.h"
#include "backup/restore_files.h"
#include "backup/zstd_file.h"
#include "base/cond_wait.h"
#include "base/file.h"
#include "storage/bdb_engine.h"
#include "storage/env.h"
#include "storage/row_log.h"

static const char FILE_NAME[] = "following";
static const char PROMOTED[] = "promoted"; /* a marker: nothing is left to read,
                                            * and the number is taken */

/* The row with the place after the last batch. Its key sorts before those that
 * catalog_follow compares. */
static const char PLACE_ROW[] = "archive/place";

enum {
    PATH_SIZE = ARCHIVE_PATH + 64,
    PLACE_TEXT = ARCHIVE_NAME + 32, /* bytes of a place as text */
    READ_EACH_MS = 500,   /* the server adds to the archive each second */
    PROMOTE_EACH_MS = 50, /* between two steps of a promotion */
    FRESH_MS = 5000       /* as long as a standby of a database */
};

/* A place in the log of one timeline. */
struct followed_place {
    char timeline[ARCHIVE_NAME]; /* without the path of the archive */
    struct log_place at;
};

/* ---- Places ------------------------------------------------------------- */

static void print_place(const struct followed_place *place, char *out)
{
    snprintf(out, PLACE_TEXT, "%" PRIu32 " %" PRIu32 " %s", place->at.file,
             place->at.offset, place->timeline);
}

static bool read_place(struct kx_slice text, struct followed_place *place_out)
{
    char copy[PLACE_TEXT];
    int begin = 0;
    if (text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (sscanf(copy, "%10" SCNu32 " %10" SCNu32 " %n", &place_out->at.file,
               &place_out->at.offset, &begin) != 2 ||
        begin == 0 || copy[begin] == '\0')
        return false;
    snprintf(place_out->timeline, sizeof place_out->timeline, "%s",
             copy + begin);
    return true;
}

/* Returns the last name of a path. */
static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- The directory ------------------------------------------------------ */

static void path_of(const char *directory, const char *name, char *out)
{
    snprintf(out, PATH_SIZE, "%s/%s", directory, name);
}

static enum kx_status write_place(const char *directory,
                                  const struct followed_place *place,
                                  struct kx_fault *fault)
{
    char path[PATH_SIZE], text[PLACE_TEXT];
    path_of(directory, FILE_NAME, path);
    print_place(place, text);
    FILE *file = file_write(path, O_TRUNC);
    if (file == NULL)
        return file_failed(path, fault);
    bool done =
        fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    done = fclose(file) == 0 && done && file_sync(path);
    return done ? KX_OK : file_failed(path, fault);
}

/* Finds the place from which no batch of the restored log is missed: all of
 * them up to there are in the tables after the replay. */
enum kx_status archive_follow_begin(const char *directory, const char *timeline,
                                    struct kx_fault *fault)
{
    uint32_t first, last;
    struct followed_place place;
    struct row_log_reader reader = {.each = NULL};
    enum kx_status status = KX_OK;
    kx_buffer_init(&reader.rows, NULL);
    if (!log_files_span(directory, &first, &last))
        return file_failed(directory, fault);
    for (uint32_t n = first; status == KX_OK && n <= last; n++) {
        struct log_file file;
        bool open = reader.txn != 0;
        status = log_file_read(directory, n, &file, fault);
        if (status != KX_OK)
            break;
        reader.at = (struct log_place){n, 0};
        if (!open)
            reader.safe = reader.at;
        status = row_log_read(&reader, &file, fault);
        log_file_drop(&file);
    }
    snprintf(place.timeline, sizeof place.timeline, "%s", timeline);
    place.at = reader.safe;
    return status == KX_OK ? write_place(directory, &place, fault) : status;
}

static enum kx_status load(const char *directory,
                           struct followed_place *place_out,
                           struct kx_fault *fault)
{
    char path[PATH_SIZE], text[PLACE_TEXT];
    path_of(directory, FILE_NAME, path);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return errno == ENOENT || errno == ENOTDIR ? KX_ABSENT
                                                   : file_failed(path, fault);
    size_t size = fread(text, 1, sizeof text, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return file_failed(path, fault);
    return read_place(kx_slice(text, size), place_out)
               ? KX_OK
               : kx_fail(fault, KX_DAMAGED, "%s is damaged", path);
}

/* The marker is removed last: the directory is not opened meanwhile. */
bool archive_follow_end(const char *directory)
{
    char path[PATH_SIZE], marker[PATH_SIZE];
    path_of(directory, FILE_NAME, path);
    path_of(directory, PROMOTED, marker);
    return unlink(path) == 0 && file_sync(path) &&
           (unlink(marker) == 0 || errno == ENOENT);
}

static enum kx_status mark_promoted(const char *directory,
                                    struct kx_fault *fault)
{
    char path[PATH_SIZE];
    path_of(directory, PROMOTED, path);
    FILE *file = file_write(path, 0);
    return file != NULL && fclose(file) == 0 && file_sync(path)
               ? KX_OK
               : file_failed(path, fault);
}

enum kx_status archive_follow_look(const char *directory,
                                   struct kx_fault *fault)
{
    struct followed_place place;
    char path[PATH_SIZE];
    path_of(directory, PROMOTED, path);
    enum kx_status status = load(directory, &place, fault);
    return status == KX_OK && access(path, F_OK) == 0 ? KX_END : status;
}

/* ---- Reading ------------------------------------------------------------ */

struct archive_follow {
    struct kx_store *store;
    const struct kx_object_store *objects;
    char timeline[ARCHIVE_PATH]; /* path in the archive */
    char copies[ARCHIVE_PATH];   /* directory for copies of log files */
    struct followed_place place; /* after the last batch that was read */
    struct row_log_reader reader;
    bool reads;                      /* the reader has a state, and memory */
    char text[PLACE_TEXT];           /* value of PLACE_ROW */
    atomic_uint_fast64_t read_ns;    /* kx_monotonic_ns when the archive was
                                      * last read to its end; 0: never */
    atomic_int_fast64_t committed_s; /* Unix time of the last batch, or 0 */
    atomic_uint_fast64_t batches;    /* applied since the start */
    atomic_bool stopping;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;           /* signalled when `stopping` is set */
    enum kx_status status;         /* of the last reading, under `lock` */
    struct kx_fault fault;         /* its reason, under `lock` */
    struct kx_promotion promotion; /* under `lock` */
    struct log_place fetched;      /* the log up to here was in the archive */
    struct archive_fence fence;    /* of a promotion */
    uint64_t fenced_ns; /* kx_monotonic_ns after its number was taken */
};

/* Copies an object over the file `to`, or expands it there. */
static enum kx_status fetch(const struct archive_follow *follow,
                            const char *object, const char *to, bool expands,
                            struct kx_fault *fault)
{
    char copy[PATH_SIZE];
    const char *file;
    snprintf(copy, sizeof copy, "%s/archive.part", follow->copies);
    enum kx_status status =
        object_fetch(follow->objects, object, copy, &file, fault);
    if (status != KX_OK)
        return status;
    status = expands ? zstd_file_expand(file, to, fault)
                     : restore_files_write_over(file, to, fault);
    if (status == KX_BAD_ARCHIVE)
        kx_fail(fault, status, "%s is damaged", object);
    object_fetched(follow->objects, copy);
    return status;
}

/* Copies the part of the log file that the archive has, unless the copy has the
 * same size. */
static enum kx_status fetch_tail(const struct archive_follow *follow,
                                 const char *to, struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    uint64_t has;
    uint64_t archived = 0;
    archive_tail_path(follow->timeline, follow->reader.at.file, path);
    enum kx_status status = file_measure(to, &has, fault);
    if (status == KX_OK || status == KX_ABSENT)
        status = follow->objects->size(follow->objects->self, path, &archived,
                                       fault);
    if (status != KX_OK || archived == has)
        return status;
    return fetch(follow, path, to, false, fault);
}

/* Copies what the archive has of the next log file. *whole_out: that is all of
 * it. KX_ABSENT: the archive has no part of it. */
static enum kx_status fetch_next(const struct archive_follow *follow,
                                 const char *to, bool *whole_out,
                                 struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    uint64_t size;
    archive_log_path(follow->timeline, follow->reader.at.file, path);
    enum kx_status status =
        follow->objects->size(follow->objects->self, path, &size, fault);
    *whole_out = status == KX_OK;
    if (status == KX_ABSENT)
        return fetch_tail(follow, to, fault);
    return status == KX_OK ? fetch(follow, path, to, true, fault) : status;
}

/* No part of the next log file was found. The server has not written it yet, or
 * has just put the whole file in the place of its part; if it has a later file
 * and not this one, the archive has removed it. */
static enum kx_status check_gap(const struct archive_follow *follow,
                                struct kx_fault *fault)
{
    uint32_t last = 0;
    uint32_t number = follow->reader.at.file;
    char path[ARCHIVE_PATH];
    uint64_t size;
    enum kx_status status =
        archive_last_log(follow->objects, follow->timeline, &last, fault);
    if (status == KX_ABSENT)
        return kx_fail(fault, KX_BAD_ARCHIVE, "%s does not exist",
                       follow->timeline);
    if (status != KX_OK || last <= number)
        return status;
    archive_log_path(follow->timeline, number, path);
    status = follow->objects->size(follow->objects->self, path, &size, fault);
    if (status != KX_ABSENT)
        return status;
    return kx_fail(fault, KX_DAMAGED,
                   "%s no longer has log file %" PRIu32
                   ": begin again with an empty data directory",
                   follow->timeline, number);
}

/* Reads what the archive has of the next log file. *whole_out: the file is read
 * to its end, and the one after it is next. */
static enum kx_status read_file(struct archive_follow *follow, bool *whole_out,
                                struct kx_fault *fault)
{
    struct log_file file;
    struct row_log_reader *reader = &follow->reader;
    uint32_t number = reader->at.file;
    char name[LOG_NAME], path[PATH_SIZE];
    log_files_name(number, name);
    snprintf(path, sizeof path, "%s/%s", follow->copies, name);
    *whole_out = false;
    enum kx_status status = fetch_next(follow, path, whole_out, fault);
    if (status == KX_ABSENT)
        return check_gap(follow, fault);
    if (status == KX_OK)
        status = log_file_read(follow->copies, number, &file, fault);
    if (status != KX_OK)
        return status;
    status = row_log_read(reader, &file, fault);
    follow->fetched = (struct log_place){number, (uint32_t)file.size};
    log_file_drop(&file);
    follow->place.at = reader->safe;
    if (status != KX_OK || !*whole_out)
        return status;
    unlink(path);
    reader->at = follow->fetched = (struct log_place){number + 1, 0};
    if (reader->txn == 0)
        reader->safe = follow->place.at = reader->at;
    return KX_OK;
}

static void drop_reader(struct archive_follow *follow)
{
    if (follow->reads)
        kx_buffer_free(&follow->reader.rows);
    follow->reads = false;
}

/* ---- Applying ----------------------------------------------------------- */

static enum kx_status apply(void *target, const struct row_log_batch *batch)
{
    struct archive_follow *follow = target;
    struct env *env = follow->store->env;
    struct followed_place place = {.at = batch->end};
    size_t count = batch->count;
    snprintf(place.timeline, sizeof place.timeline, "%s",
             follow->place.timeline);
    print_place(&place, follow->text);
    struct row_write *writes =
        talloc_array(follow, struct row_write, (unsigned)(count + 1));
    if (writes == NULL)
        return KX_NO_MEMORY;
    if (count > 0)
        memcpy(writes, batch->writes, count * sizeof *writes);
    writes[count] = (struct row_write){.type = ROW_PUT,
                                       .table = TABLE_CATALOG,
                                       .key = kx_text(PLACE_ROW),
                                       .value = kx_text(follow->text)};
    enum kx_status status =
        bdb_engine_apply_followed(env, writes, count + 1, batch->end);
    talloc_free(writes);
    if (status != KX_OK)
        return status;
    atomic_store(&follow->committed_s, batch->at_s);
    atomic_fetch_add(&follow->batches, 1);
    return KX_OK;
}

/* After an error, the open batch is read again from its first record. */
static void begin_at_place(struct archive_follow *follow)
{
    follow->reader = (struct row_log_reader){.at = follow->place.at,
                                             .safe = follow->place.at,
                                             .each = apply,
                                             .target = follow};
    kx_buffer_init(&follow->reader.rows, NULL);
    follow->reads = true;
}

/* Applies all batches that the archive has. */
static enum kx_status read_all(struct archive_follow *follow,
                               struct kx_fault *fault)
{
    enum kx_status status = KX_OK;
    bool whole = true;
    if (!follow->reads)
        begin_at_place(follow);
    while (status == KX_OK && whole && !atomic_load(&follow->stopping))
        status = read_file(follow, &whole, fault);
    if (status != KX_OK)
        drop_reader(follow);
    return status;
}

static void note(struct archive_follow *follow, enum kx_status status,
                 const struct kx_fault *fault)
{
    pthread_mutex_lock(&follow->lock);
    follow->status = status;
    follow->fault = *fault;
    pthread_mutex_unlock(&follow->lock);
}

static enum kx_status read_archive(struct archive_follow *follow)
{
    struct env *env = follow->store->env;
    struct kx_fault fault = {.detail = ""};
    uint64_t batches = atomic_load(&follow->batches);
    uint64_t now_ns = kx_monotonic_ns();
    enum kx_status status = read_all(follow, &fault);
    if (atomic_load(&follow->batches) != batches && env_flush(env) != KX_OK)
        status = kx_fail(&fault, KX_FAILED, "a flush has failed");
    if (status == KX_OK)
        atomic_store(&follow->read_ns, now_ns);
    else if (fault.detail[0] == '\0')
        kx_fail(&fault, status, "%s", kx_status_title(status));
    note(follow, status, &fault);
    return status;
}

/* ---- Promotion ----------------------------------------------------------- */

static void promote_to(struct archive_follow *follow, enum kx_promoting state)
{
    pthread_mutex_lock(&follow->lock);
    follow->promotion.state = state;
    follow->promotion.number = follow->fence.first;
    pthread_mutex_unlock(&follow->lock);
}

/* The promotion ends, or its step is tried again. */
static void promotion_failed(struct archive_follow *follow, bool ends,
                             const struct kx_fault *fault)
{
    kx_log(KX_LOG_ERROR, "promotion", "detail=\"%s\"", fault->detail);
    pthread_mutex_lock(&follow->lock);
    if (ends)
        follow->promotion.state = KX_PROMOTING_FAILED;
    follow->promotion.fault = *fault;
    pthread_mutex_unlock(&follow->lock);
}

/* From here on the server that is followed finds its next number taken. */
static void take_number(struct archive_follow *follow)
{
    struct kx_fault fault = {.detail = ""};
    const struct kx_options *options = &follow->store->options;
    struct archive_fence *fence = &follow->fence;
    struct log_place none = {0, 0};
    enum kx_status status =
        archive_fence_init(fence, options, options->follow, 0, &fault);
    if (status == KX_OK)
        status =
            archive_fence_take(fence, none, follow->place.timeline, &fault);
    if (status != KX_OK) {
        promotion_failed(follow, true, &fault);
        return;
    }
    follow->fenced_ns = kx_monotonic_ns();
    kx_log(KX_LOG_INFO, "promotion", "piece=%llu lease_ms=%llu",
           (unsigned long long)fence->first,
           (unsigned long long)fence->piece.lease_ms);
    promote_to(follow, KX_PROMOTING_WAITS);
}

/* The followed server may acknowledge writes that are not in the archive until
 * its lease ends. Inside the lock. */
static uint64_t lease_left_ms(const struct archive_follow *follow)
{
    uint64_t lease_ms = follow->fence.piece.lease_ms;
    uint64_t past_ms = (kx_monotonic_ns() - follow->fenced_ns) / KX_MS_NS;
    return follow->promotion.now || past_ms >= lease_ms ? 0
                                                        : lease_ms - past_ms;
}

/* Returns whether everything was read that the archive had when the number was
 * taken. */
static bool has_read_all(const struct archive_follow *follow)
{
    const struct archive_piece *before = &follow->fence.before;
    return strcmp(before->timeline, follow->place.timeline) != 0 ||
           before->end.file < follow->fetched.file ||
           (before->end.file == follow->fetched.file &&
            before->end.offset <= follow->fetched.offset);
}

static void read_last(struct archive_follow *follow)
{
    struct kx_fault fault = {.detail = ""};
    if (read_archive(follow) != KX_OK) {
        fault = follow->fault; /* this thread alone writes it */
        promotion_failed(follow, false, &fault);
        return;
    }
    if (atomic_load(&follow->stopping)) /* the read may have ended early */
        return;
    if (!has_read_all(follow)) {
        kx_fail(&fault, KX_BAD_ARCHIVE,
                "%s lacks a part of the log that it had before",
                follow->timeline);
        promotion_failed(follow, false, &fault);
        return;
    }
    if (mark_promoted(follow->store->options.directory, &fault) != KX_OK) {
        promotion_failed(follow, false, &fault);
        return;
    }
    promote_to(follow, KX_PROMOTING_DONE);
}

static enum kx_promoting promoting(struct archive_follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    enum kx_promoting state = follow->promotion.state;
    pthread_mutex_unlock(&follow->lock);
    return state;
}

static void end_wait(struct archive_follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    if (lease_left_ms(follow) == 0)
        follow->promotion.state = KX_PROMOTING_READS;
    pthread_mutex_unlock(&follow->lock);
}

static void promote_step(struct archive_follow *follow)
{
    switch (promoting(follow)) {
    case KX_PROMOTING_TAKES:
        take_number(follow);
        break;
    case KX_PROMOTING_WAITS:
        end_wait(follow);
        break;
    case KX_PROMOTING_READS:
        read_last(follow);
        break;
    case KX_PROMOTING_NOT:
    case KX_PROMOTING_FAILED:
    case KX_PROMOTING_DONE:
        break;
    }
}

bool kx_promote_begin(struct kx_store *store, bool now,
                      struct kx_promotion *promotion_out)
{
    struct archive_follow *follow = store->follow;
    if (follow == NULL)
        return false;
    pthread_mutex_lock(&follow->lock);
    struct kx_promotion *promotion = &follow->promotion;
    if (promotion->state == KX_PROMOTING_NOT) {
        *promotion = (struct kx_promotion){.state = KX_PROMOTING_TAKES};
        pthread_cond_signal(&follow->stop);
    }
    promotion->now = promotion->now || now;
    *promotion_out = *promotion;
    if (promotion->state == KX_PROMOTING_WAITS)
        promotion_out->wait_ms = lease_left_ms(follow);
    if (promotion->state == KX_PROMOTING_FAILED)
        promotion->state = KX_PROMOTING_NOT;
    pthread_mutex_unlock(&follow->lock);
    return true;
}

/* ---- The thread ---------------------------------------------------------- */

/* What a promotion has read to its end stays so. */
static bool wait_for_more(struct archive_follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    enum kx_promoting state = follow->promotion.state;
    bool promotes = state != KX_PROMOTING_NOT && state != KX_PROMOTING_FAILED;
    uint64_t pause_ms = promotes ? PROMOTE_EACH_MS : READ_EACH_MS;
    uint64_t until_ns = kx_monotonic_ns() + pause_ms * KX_MS_NS;
    if (!atomic_load(&follow->stopping) && state != KX_PROMOTING_TAKES)
        cond_wait_until(&follow->stop, &follow->lock, until_ns);
    pthread_mutex_unlock(&follow->lock);
    return !atomic_load(&follow->stopping);
}

static void *run(void *argument)
{
    struct archive_follow *follow = argument;
    pthread_setname_np(pthread_self(), "follow");
    while (wait_for_more(follow) && !env_failed(follow->store->env)) {
        promote_step(follow);
        if (promoting(follow) < KX_PROMOTING_READS)
            read_archive(follow);
    }
    return NULL;
}

/* ---- Starting ----------------------------------------------------------- */

/* Reads the place after the last batch that was applied: that of the row, if
 * the row is not from a time when the followed server was a standby itself. */
static enum kx_status load_place(struct archive_follow *follow,
                                 struct kx_fault *fault)
{
    struct followed_place place;
    struct engine_view *view;
    struct kx_store *store = follow->store;
    struct kx_buffer row;
    kx_buffer_init(&row, follow);
    enum kx_status status =
        load(store->options.directory, &follow->place, fault);
    if (status == KX_OK)
        status = engine_view_open(follow, store->engine, NULL, &view);
    if (status != KX_OK)
        return status;
    status = engine_get(view, TABLE_CATALOG, kx_text(PLACE_ROW), &row);
    if (status == KX_OK && read_place(kx_buffer_slice(&row), &place) &&
        strcmp(place.timeline, follow->place.timeline) == 0)
        follow->place.at = place.at;
    return status == KX_ABSENT ? KX_OK : status;
}

static int finish(struct archive_follow *follow)
{
    pthread_mutex_destroy(&follow->lock);
    pthread_cond_destroy(&follow->stop);
    drop_reader(follow);
    return 0;
}

static struct archive_follow *create(struct kx_store *store)
{
    struct archive_follow *follow = talloc_zero(store, struct archive_follow);
    if (follow == NULL)
        return NULL;
    follow->store = store;
    follow->objects = object_store_of(store->options.objects);
    snprintf(follow->copies, sizeof follow->copies, "%s/followed",
             store->options.directory);
    pthread_mutex_init(&follow->lock, NULL);
    pthread_cond_init(&follow->stop, NULL);
    talloc_set_destructor(follow, finish);
    return follow;
}

/* The option names the archive, or the timeline in it. */
static void find_timeline(struct archive_follow *follow)
{
    const char *archive = follow->store->options.follow;
    const char *name = follow->place.timeline;
    bool named = strcmp(last_name(archive), name) == 0;
    snprintf(follow->timeline, sizeof follow->timeline, "%s%s%s", archive,
             named ? "" : "/", named ? "" : name);
}

enum kx_status archive_follow_start(struct kx_store *store,
                                    struct kx_fault *fault)
{
    struct archive_follow *follow = create(store);
    if (follow == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = load_place(follow, fault);
    if (status != KX_OK)
        return status;
    find_timeline(follow);
    store->engine = bdb_engine_follow(store->env, follow->place.at);
    if (store->engine == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (!file_make_directory(follow->copies))
        return file_failed(follow->copies, fault);
    read_archive(follow);
    if (pthread_create(&follow->thread, NULL, run, follow) != 0)
        return kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
    store->follow = follow;
    return KX_OK;
}

/* ---- While it follows --------------------------------------------------- */

static uint64_t age_ms(const struct archive_follow *follow)
{
    uint64_t read_ns = atomic_load(&follow->read_ns);
    return read_ns == 0 ? UINT64_MAX : (kx_monotonic_ns() - read_ns) / KX_MS_NS;
}

enum kx_status archive_follow_holder(const struct kx_store *store,
                                     struct kx_holder *holder_out,
                                     struct kx_fault *fault)
{
    struct archive_follow *follow = store->follow;
    const char *address = store->options.primary;
    if (engine_failed(store->engine))
        return kx_fail(fault, KX_FAILED, "the storage has failed");
    if (promoting(follow) == KX_PROMOTING_DONE)
        return KX_END;
    *holder_out = (struct kx_holder){.node = "primary", .epoch = 1};
    snprintf(holder_out->address, sizeof holder_out->address, "%s",
             address != NULL ? address : "");
    holder_out->alive = age_ms(follow) < FRESH_MS;
    pthread_mutex_lock(&follow->lock);
    enum kx_status status = follow->status;
    if (status != KX_OK)
        *fault = follow->fault;
    pthread_mutex_unlock(&follow->lock);
    if (status == KX_DAMAGED)
        return status;
    return holder_out->alive ? KX_IN_USE : KX_UNREACHABLE;
}

bool kx_follow_stats_read(const struct kx_store *store,
                          struct kx_follow_stats *stats_out)
{
    const struct archive_follow *follow = store->follow;
    if (follow == NULL)
        return false;
    *stats_out = (struct kx_follow_stats){
        .age_ms = age_ms(follow),
        .committed_s = atomic_load(&follow->committed_s),
        .batches = atomic_load(&follow->batches)};
    return true;
}

void archive_follow_stop(struct kx_store *store)
{
    struct archive_follow *follow = store->follow;
    if (follow == NULL)
        return;
    pthread_mutex_lock(&follow->lock);
    atomic_store(&follow->stopping, true);
    pthread_cond_signal(&follow->stop);
    pthread_mutex_unlock(&follow->lock);
    if (follow->objects->hurry != NULL)
        follow->objects->hurry(follow->objects->self);
    pthread_join(follow->thread, NULL);
}
