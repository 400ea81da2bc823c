/* Opening, backups, restores and the archive while allocations fail. */
#include "alloc_world.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* What the C library could not do without memory is no other failure. */
static enum kx_status without_memory(enum kx_status status,
                                     const struct kx_fault *fault)
{
    bool lacked = strstr(fault->detail, strerror(ENOMEM)) != NULL;
    return status != KX_OK && lacked ? KX_NO_MEMORY : status;
}

/* ---- Opening ------------------------------------------------------------ */

/* The world's own store is closed meanwhile. */
static enum kx_status run_open(struct world *world)
{
    struct kx_fault fault;
    test_store_close(&world->test);
    long before = alloc_live();
    enum kx_status status =
        kx_open(&world->test.options, &world->test.store, &fault);
    if (status == KX_OK)
        kx_close(world->test.store);
    alloc_disarm();
    if (alloc_live() != before)
        wrong("%ld blocks are left", alloc_live() - before);
    test_store_open(&world->test);
    return status;
}

/* ---- Backups ------------------------------------------------------------ */

static enum kx_status take(struct world *world, struct kx_buffer *out)
{
    struct kx_backup *backup;
    struct kx_fault fault;
    enum kx_status status =
        kx_backup_begin(world->test.store, world->mem, &backup, &fault);
    if (status != KX_OK)
        return status;
    while (status == KX_OK)
        status = kx_backup_next(backup, out);
    talloc_free(backup);
    return status == KX_END ? KX_OK : status;
}

static enum kx_status look_at(struct world *world, struct kx_slice backup)
{
    struct kx_fault fault = {.detail = ""};
    struct kx_backup_check *check = kx_backup_check_begin(world->mem);
    if (check == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = kx_backup_check_add(check, backup, &fault);
    if (status == KX_OK)
        status = kx_backup_check_end(check, &fault);
    talloc_free(check);
    return status;
}

static enum kx_status run_backup(struct world *world)
{
    struct kx_buffer out;
    kx_buffer_init(&out, world->mem);
    enum kx_status status = take(world, &out);
    if (status == KX_OK)
        status = look_at(world, kx_buffer_slice(&out));
    return status;
}

static void furnish_backup(struct world *world)
{
    struct kx_buffer out;
    furnish(world);
    kx_buffer_init(&out, world->mem);
    done(take(world, &out), "a backup");
    FILE *file = fopen(world_path(world, ".backup"), "wbe");
    assert_non_null(file);
    assert_int_equal(fwrite(out.data, 1, out.size, file), out.size);
    assert_int_equal(fclose(file), 0);
}

/* ---- Restores ----------------------------------------------------------- */

/* Opens what was restored: it is the world's store as it is. */
static void compare(struct world *world, const char *directory)
{
    struct test_store other = {.options = world->test.options};
    pthread_mutex_init(&other.lock, NULL);
    pthread_cond_init(&other.answered, NULL);
    other.options.directory = directory;
    other.options.answer_context = &other;
    test_store_open(&other);
    if (strcmp(world_show(&other, world->mem),
               world_show(&world->test, world->mem)) != 0)
        wrong("another store was restored: %s", world_show(&other, world->mem));
    test_store_close(&other);
}

static enum kx_status restore(struct world *world, const char *suffix)
{
    struct kx_fault fault = {.detail = ""};
    char *to = world_path(world, ".restored");
    struct kx_restore restore = {.source = world_path(world, suffix),
                                 .directory = to};
    test_remove(to);
    enum kx_status status = kx_restore(&restore, &fault);
    size_t failed = alloc_disarm();
    if (status == KX_OK)
        compare(world, to);
    test_remove(to);
    if (status != KX_OK && failed == 0)
        wrong("%s", fault.detail);
    return without_memory(status, &fault);
}

static enum kx_status run_restore(struct world *world)
{
    return restore(world, ".backup");
}

static enum kx_status run_restore_archive(struct world *world)
{
    return restore(world, ".archive");
}

/* ---- The archive -------------------------------------------------------- */

/* Nothing was taken for damaged that is not. */
static void look_for_damaged(struct world *world)
{
    struct dirent *file;
    DIR *files = opendir(world->test.directory);
    assert_non_null(files);
    while ((file = readdir(files)) != NULL)
        if (strncmp(file->d_name, "damaged-", 8) == 0)
            wrong("%s", file->d_name);
    closedir(files);
}

/* Opens the world's store, which is closed, with an archive, and closes it:
 * then all of it is archived. */
static enum kx_status open_archiving(struct world *world)
{
    struct kx_fault fault = {.detail = ""};
    struct kx_options options = world->test.options;
    options.archive = world_path(world, ".archive");
    enum kx_status status = kx_open(&options, &world->test.store, &fault);
    if (status == KX_OK)
        kx_close(world->test.store);
    return without_memory(status, &fault);
}

static bool has_base(const char *archive)
{
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*/base-*.zst", archive);
    bool has = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return has;
}

/* The same with all memory: waits for the base, for which closing does not. */
static enum kx_status open_until_archived(struct world *world)
{
    struct kx_fault fault = {.detail = ""};
    struct kx_options options = world->test.options;
    options.archive = world_path(world, ".archive");
    enum kx_status status = kx_open(&options, &world->test.store, &fault);
    if (status != KX_OK)
        return status;
    for (int ms = 0; !has_base(options.archive) && ms < PATIENCE_MS; ms++)
        usleep(1000);
    kx_close(world->test.store);
    return KX_OK;
}

static void forget_archive(struct world *world)
{
    char timeline[sizeof world->test.directory + 16];
    snprintf(timeline, sizeof timeline, "%s/timeline", world->test.directory);
    remove(timeline);
    test_remove(world_path(world, ".archive"));
}

/* An archive that lacks something because it had no memory is known to lack it:
 * it gets it later, and is right then. */
static enum kx_status run_archive(struct world *world)
{
    test_store_close(&world->test);
    forget_archive(world);
    enum kx_status status = open_archiving(world);
    bool lacked = alloc_disarm() > 0;
    done(open_until_archived(world), "archiving again");
    look_for_damaged(world);
    test_store_open(&world->test);
    done(restore(world, ".archive"), "restoring from the archive");
    return lacked && status != KX_OK ? KX_NO_MEMORY : status;
}

/* An existing archive is continued. */
static enum kx_status run_archive_on(struct world *world)
{
    test_store_close(&world->test);
    enum kx_status status = open_archiving(world);
    alloc_disarm();
    look_for_damaged(world);
    done(open_until_archived(world), "archiving again");
    test_store_open(&world->test);
    done(restore(world, ".archive"), "restoring from the archive");
    return status;
}

static void furnish_archive(struct world *world)
{
    furnish(world);
    test_store_close(&world->test);
    done(open_until_archived(world), "archiving");
    test_store_open(&world->test);
}

/* ---- A damaged directory ------------------------------------------------ */

/* Removes what was put aside; its names have only seconds. */
static void forget_damaged(struct world *world)
{
    static int64_t now_ms = 1700000000000;
    struct dirent *file;
    DIR *files = opendir(world->test.directory);
    while (files != NULL && (file = readdir(files)) != NULL)
        if (strncmp(file->d_name, "damaged-", 8) == 0) {
            char path[sizeof world->test.directory + sizeof file->d_name];
            snprintf(path, sizeof path, "%s/%s", world->test.directory,
                     file->d_name);
            test_remove(path);
        }
    closedir(files);
    kx_clock_set(now_ms += 1000);
}

static void damage(struct world *world)
{
    char path[sizeof world->test.directory + 16];
    snprintf(path, sizeof path, "%s/entries.db", world->test.directory);
    assert_int_equal(truncate(path, 8192), 0);
}

/* A store is repaired from its archive; an interrupted repair is completed
 * by the next start. */
static enum kx_status run_mend(struct world *world)
{
    test_store_close(&world->test);
    forget_damaged(world);
    damage(world);
    enum kx_status status = open_archiving(world);
    alloc_disarm();
    kx_clock_set(0);
    if (status != KX_OK)
        done(open_archiving(world), "repairing again");
    test_store_open(&world->test);
    return status;
}

static const struct operation OPERATIONS[] = {
    {"open", furnish, run_open, NULL},
    {"backup", furnish, run_backup, NULL},
    {"restore", furnish_backup, run_restore, NULL},
    {"archive", furnish, run_archive, NULL},
    {"archive on", furnish_archive, run_archive_on, NULL},
    {"restore from an archive", furnish_archive, run_restore_archive, NULL},
    {"mend", furnish_archive, run_mend, NULL},
};

const struct operations ALLOC_FILES = {
    OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS, 20};
