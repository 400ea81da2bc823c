/* A directory gets the checkpointer, without which its log would grow with the
 * rows. */
#include "store/copy_place.h"

#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "base/file.h"
#include "bdb/table.h"
#include "postgres/pg_engine.h"
#include "store/checkpointer.h"
#include "store/data_dir.h"

enum {
    PATH_BYTES = 4096,
    TAKE_MS = 5000, /* for the lease of a process that has just ended */
    LOOK_MS = 50    /* between two looks at it */
};

/* What others are told that wait for the database. */
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

enum kx_status copy_place_open(const struct kx_copy *copy, const char *text,
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

bool copy_place_has_store(const char *directory)
{
    char path[PATH_BYTES];
    uint64_t size;
    int wanted = snprintf(path, sizeof path, "%s/%s", directory,
                          table_file(TABLE_ENTRIES));
    return wanted > 0 && wanted < PATH_BYTES &&
           file_measure(path, &size, NULL) == KX_OK;
}

void copy_place_close(struct kx_store *place)
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
