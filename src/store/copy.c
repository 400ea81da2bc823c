/* Reads rows in key order and applies them in batches of neighbours. The row
 * "format" of the catalog makes the target a store: it has a word in place of
 * the number until everything else is on disk (catalog/format_rows.h). */
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "bdb/table.h"
#include "catalog/format_rows.h"
#include "kindex/copy.h"
#include "postgres/pg_engine.h"
#include "store/checkpointer.h"
#include "store/data_dir.h"

/* A directory needs the checkpointer, or its log would grow with the rows. */

enum {
    PATH_BYTES = 4096,
    TAKE_MS = 5000, /* waits for the lease of a process that has just ended */
    LOOK_MS = 50    /* between two attempts to take the lease */
};

/* The name that other nodes see while they wait for the database. */
static const char NODE[] = "engine-copy";

bool kx_is_database(const char *place)
{
    return kx_starts_with(kx_text(place), kx_text("postgresql://")) ||
           kx_starts_with(kx_text(place), kx_text("postgres://"));
}

static enum kx_status open_database(struct kx_store *place,
                                    struct kx_fault *fault)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)TAKE_MS * KX_MS_NS;
    struct kx_holder holder;
    enum kx_status status =
        pg_engine_join(place, &place->options, &place->engine, fault);
    if (status != KX_OK)
        return status;
    while ((status = pg_engine_take(place->engine, &holder, fault)) ==
               KX_IN_USE &&
           kx_monotonic_ns() < until_ns)
        usleep(LOOK_MS * 1000);
    if (status != KX_OK)
        pg_engine_close(place->engine);
    return status;
}

static enum kx_status open_directory(struct kx_store *place,
                                     struct kx_fault *fault)
{
    enum kx_status status = data_dir_open(place, fault);
    if (status != KX_OK)
        return status;
    place->checkpointer =
        checkpointer_start(place, place->env, &place->options, NULL);
    if (place->checkpointer != NULL)
        return KX_OK;
    data_dir_close(place);
    return kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
}

/* Opens the place, a directory or the address of a database, and locks it:
 * *place_out is under no talloc context. Returns the statuses of kx_copy_store;
 * on failure nothing is open. */
static enum kx_status copy_place_open(const struct kx_copy *copy,
                                      const char *text,
                                      struct kx_store **place_out,
                                      struct kx_fault *fault)
{
    struct kx_store *place = talloc_zero(NULL, struct kx_store);
    if (place == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    bool database = kx_is_database(text);
    kx_options_default(&place->options);
    place->options.cache_bytes = copy->cache_bytes;
    place->options.directory = database ? NULL : text;
    place->options.engine = database ? text : NULL;
    place->options.engine_password_file = copy->engine_password_file;
    place->options.engine_insecure = copy->engine_insecure;
    place->options.node = NODE;
    enum kx_status status =
        database ? open_database(place, fault) : open_directory(place, fault);
    if (status == KX_OK)
        *place_out = place;
    else
        talloc_free(place);
    return status;
}

/* Returns whether the directory has the files of a store. */
static bool copy_place_has_store(const char *directory)
{
    char path[PATH_BYTES];
    uint64_t size;
    int wanted = snprintf(path, sizeof path, "%s/%s", directory,
                          table_file(TABLE_ENTRIES));
    return wanted > 0 && wanted < PATH_BYTES &&
           file_measure(path, &size, NULL) == KX_OK;
}

/* Closes the place; NULL is allowed. Flushed data is on disk. */
static void copy_place_close(struct kx_store *place)
{
    if (place == NULL)
        return;
    if (place->checkpointer != NULL)
        checkpointer_stop(place->checkpointer);
    if (place->env != NULL)
        data_dir_close(place);
    else
        pg_engine_close(place->engine);
    talloc_free(place);
}

enum {
    BATCH_ROWS = 8192,
    BATCH_BYTES =
        4 << 20,       /* bytes of keys and values after which a batch ends */
    FLUSH_BATCHES = 16 /* batches between two checks of the free space */
};

/* The rows of the next batch. */
struct copy_batch {
    struct row_write writes[BATCH_ROWS];
    size_t count;
    size_t bytes;
    void *mem; /* holds keys and values */
    struct arena arena;
};

/* A copy in progress. */
struct copying {
    struct kx_copy *copy;
    struct kx_store *from;
    struct kx_store *to;
    struct copy_batch *batch;
    unsigned batches;
    struct row_write format; /* the last write */
};

static enum kx_status empty(struct copying *copying)
{
    struct copy_batch *batch = copying->batch;
    talloc_free(batch->mem);
    batch->mem = talloc_new(batch);
    batch->count = 0;
    batch->bytes = 0;
    arena_init(&batch->arena, batch->mem);
    return batch->mem != NULL ? KX_OK : KX_NO_MEMORY;
}

static enum kx_status flush(struct copying *copying)
{
    struct engine *to = copying->to->engine;
    enum kx_status status = engine_flush(to);
    if (status == KX_OK && engine_space(to) != SPACE_ENOUGH)
        return KX_DISK_FULL;
    return status;
}

static enum kx_status apply(struct copying *copying)
{
    struct copy_batch *batch = copying->batch;
    struct engine_batch rows = {.writes = batch->writes,
                                .count = batch->count,
                                .order = ROWS_NEIGHBOURS};
    if (batch->count == 0)
        return KX_OK;
    enum kx_status status = engine_apply(copying->to->engine, &rows);
    if (status == KX_OK && ++copying->batches % FLUSH_BATCHES == 0)
        status = flush(copying);
    if (status != KX_OK)
        return status;
    copying->copy->rows += batch->count;
    if (copying->copy->progress != NULL)
        copying->copy->progress(copying->copy->context, copying->copy->rows);
    return empty(copying);
}

static bool keep(void *mem, struct arena *arena, struct kx_slice *bytes)
{
    if (bytes->size == 0)
        return true;
    uint8_t *copy = arena != NULL
                        ? arena_copy(arena, bytes->data, bytes->size)
                        : talloc_memdup(mem, bytes->data, bytes->size);
    bytes->data = copy;
    return copy != NULL;
}

static enum kx_status add(struct copying *copying, enum table table,
                          struct kx_slice key, struct kx_slice value)
{
    struct copy_batch *batch = copying->batch;
    if (format_is_row(table, key)) {
        copying->format = format_copied(value);
        return keep(batch, NULL, &copying->format.value) ? KX_OK : KX_NO_MEMORY;
    }
    if (!keep(batch, &batch->arena, &key) ||
        !keep(batch, &batch->arena, &value))
        return KX_NO_MEMORY;
    batch->writes[batch->count++] = (struct row_write){
        .type = ROW_INSERT, .table = table, .key = key, .value = value};
    batch->bytes += key.size + value.size;
    return batch->count == BATCH_ROWS || batch->bytes >= BATCH_BYTES
               ? apply(copying)
               : KX_OK;
}

/* Reads a range between calls of engine_apply, which is possible because the
 * source is another engine. */
static enum kx_status copy_table(struct copying *copying,
                                 struct engine_view *view, enum table table)
{
    struct engine_range *range = NULL;
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status =
        engine_range_create(copying->batch, view, table, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, kx_slice(NULL, 0), kx_slice(NULL, 0));
    while (status == KX_OK &&
           (status = engine_range_next(range, &key, &value)) == KX_OK)
        status = add(copying, table, key, value);
    engine_range_end(range);
    talloc_free(range);
    return status == KX_END ? apply(copying) : status;
}

/* Writes the row "format" when all other rows are on disk, unless another
 * process took over the source meanwhile. */
static enum kx_status copy_rows(struct copying *copying,
                                struct engine_view *view)
{
    struct row_write marker = format_copying();
    enum kx_status status = engine_write_now(copying->to->engine, &marker, 1);
    for (int table = 0; status == KX_OK && table < TABLE_COUNT; table++)
        status = copy_table(copying, view, (enum table)table);
    if (status == KX_OK)
        status = engine_flush(copying->to->engine);
    if (status == KX_OK && !engine_holds(copying->from->engine))
        status = KX_UNREACHABLE;
    if (status == KX_OK)
        status = engine_write_now(copying->to->engine, &copying->format, 1);
    copying->copy->rows++;
    return status;
}

/* KX_ABSENT: the table has no row. */
static enum kx_status first_row(struct engine_view *view, enum table table)
{
    struct engine_range *range = NULL;
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status = engine_range_create(NULL, view, table, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, kx_slice(NULL, 0), kx_slice(NULL, 0));
    if (status == KX_OK)
        status = engine_range_next(range, &key, &value);
    engine_range_end(range);
    talloc_free(range);
    return status == KX_END ? KX_ABSENT : status;
}

static enum kx_status check_target(struct copying *copying,
                                   struct kx_fault *fault)
{
    struct engine_view *view;
    unsigned long number;
    enum kx_status status =
        engine_view_open(copying->batch, copying->to->engine, NULL, &view);
    if (status != KX_OK)
        return status;
    status = format_read(view, &number, fault);
    for (int table = 0; status == KX_ABSENT && table < TABLE_COUNT; table++)
        status = first_row(view, (enum table)table);
    talloc_free(view);
    if (status == KX_ABSENT)
        return KX_OK;
    return status != KX_OK
               ? status
               : kx_fail(fault, KX_BAD_DIRECTORY,
                         "there is a store in it; copy into an empty one");
}

static enum kx_status check_source(struct engine_view *view,
                                   struct kx_fault *fault)
{
    unsigned long number;
    enum kx_status status = format_read(view, &number, fault);
    return status == KX_ABSENT
               ? kx_fail(fault, KX_BAD_DIRECTORY, "there is no store in it")
               : status;
}

/* Prefixes the fault's sentence with the name of the place. */
static enum kx_status blame(const char *place, enum kx_status status,
                            struct kx_fault *fault)
{
    struct kx_fault why = *fault;
    if (status == KX_OK)
        return KX_OK;
    return kx_fail(fault, status, "%s: %s", place,
                   why.detail[0] != '\0' ? why.detail
                                         : kx_status_title(status));
}

static enum kx_status run(struct copying *copying, struct kx_fault *fault)
{
    struct engine_view *view = NULL;
    struct kx_copy *copy = copying->copy;
    enum kx_status status =
        engine_view_open(copying->batch, copying->from->engine, NULL, &view);
    if (status == KX_OK)
        status = blame(copy->from, check_source(view, fault), fault);
    if (status == KX_OK)
        status = blame(copy->to, check_target(copying, fault), fault);
    if (status == KX_OK) {
        status = empty(copying);
        if (status == KX_OK)
            status = copy_rows(copying, view);
        if (status != KX_OK)
            kx_fail(fault, status,
                    "%s: the copy has stopped: %s; remove what it has, then "
                    "copy again",
                    copy->to, kx_status_title(status));
    }
    talloc_free(view);
    return status;
}

/* Opens the source first: without it, the target is not created. */
static enum kx_status open_both(struct copying *copying, struct kx_fault *fault)
{
    struct kx_copy *copy = copying->copy;
    enum kx_status status = KX_BAD_DIRECTORY;
    if (kx_is_database(copy->from) || copy_place_has_store(copy->from))
        status = copy_place_open(copy, copy->from, &copying->from, fault);
    else
        kx_fail(fault, status, "there is no store in it");
    if (status != KX_OK) {
        blame(copy->from, status, fault);
        return status;
    }
    status = copy_place_open(copy, copy->to, &copying->to, fault);
    return blame(copy->to, status, fault);
}

enum kx_status kx_copy_store(struct kx_copy *copy, struct kx_fault *fault)
{
    struct copying copying = {.copy = copy};
    copy->rows = 0;
    fault->detail[0] = '\0';
    copying.batch = talloc_zero(NULL, struct copy_batch);
    if (copying.batch == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = open_both(&copying, fault);
    if (status == KX_OK)
        status = run(&copying, fault);
    copy_place_close(copying.to);
    copy_place_close(copying.from);
    talloc_free(copying.batch);
    return status;
}
