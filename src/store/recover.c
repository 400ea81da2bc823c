/* If dir_inspect.c finds damage, or the library cannot open the directory, and
 * an archive has the store: the store's files are moved aside, the archive's
 * state takes their place, and the remaining log is replayed from the damaged
 * files. Without an archive nothing changes. */
#include "store/recover.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "backup/archive_restore.h"
#include "backup/archive_timeline.h"
#include "backup/object_dir.h"
#include "storage/foreign.h"
#include "store/dir_inspect.h"
#include "base/file.h"
#include "backup/restore.h"
#include "storage/suspect.h"

static const char ASIDE[] = "damaged-"; /* then the time */
enum { ASIDE_MAX = 9 /* of one second */ };

/* The files of the store, except the lock, the ballast, the directories of
 * earlier damaged files, and the marker of an unfinished restore. Other files
 * are not the store's: a token file, or an archive. */
static bool goes_aside(const char *name)
{
    static const char *const starts[] = {"log.",     "next-log",  "format",
                                         "timeline", "backed-up", "complete",
                                         "__db."};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return size > 3 && strcmp(name + size - 3, ".db") == 0;
}

struct move {
    const char *from;
    const char *to;
};

/* A file that is already aside was moved there by a recovery that was
 * interrupted: then the one here is only what that recovery had restored, and
 * is removed. */
static bool move_file(void *target, const char *name)
{
    const struct move *move = target;
    char old[2 * ARCHIVE_PATH], new[2 * ARCHIVE_PATH];
    snprintf(old, sizeof old, "%s/%s", move->from, name);
    snprintf(new, sizeof new, "%s/%s", move->to, name);
    if (!goes_aside(name))
        return true;
    if (access(new, F_OK) == 0)
        return unlink(old) == 0;
    return errno == ENOENT && rename(old, new) == 0;
}

/* The order of the names is the order of their times. */
static bool find_newest(void *target, const char *name)
{
    char *newest = target;
    if (strncmp(name, ASIDE, sizeof ASIDE - 1) == 0 && strcmp(name, newest) > 0)
        snprintf(newest, NAME_MAX + 1, "%s", name);
    return true;
}

/* Makes a new directory, with a number if an earlier recovery of the same
 * second made one. */
static bool make_aside(const char *directory, char *aside)
{
    char moment[32];
    time_t now = (time_t)(kx_now_ms() / 1000);
    struct tm parts;
    strftime(moment, sizeof moment, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &parts));
    snprintf(aside, ARCHIVE_PATH, "%s/%s%s", directory, ASIDE, moment);
    bool made = mkdir(aside, 0700) == 0;
    for (int n = 2; !made && errno == EEXIST && n <= ASIDE_MAX; n++) {
        snprintf(aside, ARCHIVE_PATH, "%s/%s%s-%d", directory, ASIDE, moment,
                 n);
        made = mkdir(aside, 0700) == 0;
    }
    return made;
}

/* The directory for the damaged files: the one of an interrupted recovery,
 * which has the only complete log, or a new one. */
static bool choose_aside(const char *directory, char *aside)
{
    char newest[NAME_MAX + 1] = "";
    enum kx_status status = restore_broken_off(directory, NULL);
    if (status != KX_ABSENT &&
        (status != KX_OK || !file_each(directory, find_newest, newest)))
        return false;
    if (newest[0] == '\0')
        return make_aside(directory, aside);
    snprintf(aside, ARCHIVE_PATH, "%s/%s", directory, newest);
    return true;
}

/* The restore marker is written before the files are moved: a directory from
 * which all files were moved would be taken for a new one. */
static enum kx_status put_aside(const char *directory, char *aside,
                                struct kx_fault *fault)
{
    struct move move = {directory, aside};
    snprintf(aside, ARCHIVE_PATH, "%s", directory);
    if (choose_aside(directory, aside) && restore_begin(directory) &&
        file_each(directory, move_file, &move))
        return KX_OK;
    return file_failed(aside, fault);
}

/* No damage is skipped: the user has to decide about data that is not in the
 * archive and cannot be read. */
static enum kx_status give_up(const char *timeline, const char *aside,
                              enum kx_status status, struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    if (status != KX_BAD_ARCHIVE && status != KX_DAMAGED)
        return status;
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(fault, status,
                   "%s. kindex restore %s --data NEW restores what the archive "
                   "has; the damaged files are in %s",
                   detail, timeline, aside);
}

/* The store's timeline in the archive, according to the directory's note, which
 * an interrupted recovery may have moved aside. Another store's timeline is
 * never taken. KX_ABSENT: the archive has no base of this store. */
static enum kx_status find_timeline(const struct kx_options *options,
                                    char *timeline, struct kx_fault *fault)
{
    char newest[NAME_MAX + 1] = "";
    char aside[2 * ARCHIVE_PATH];
    enum kx_status status =
        archive_timeline(options->archive, options->directory, timeline, fault);
    if (status == KX_ABSENT &&
        file_each(options->directory, find_newest, newest) &&
        newest[0] != '\0') {
        snprintf(aside, sizeof aside, "%s/%s", options->directory, newest);
        status = archive_timeline(options->archive, aside, timeline, fault);
    }
    if (status != KX_OK)
        return status;
    return archive_has_base(object_store_of(options->objects), timeline, fault);
}

/* Replays the damaged directory's log from where the archive ends. */
static enum kx_status recover(const struct kx_options *options,
                              const char *timeline, struct dir_lock *lock,
                              struct kx_fault *fault)
{
    char aside[ARCHIVE_PATH];
    uint64_t known = 0;
    struct kx_restore restore = {.source = timeline,
                                 .objects = options->objects,
                                 .directory = options->directory};
    enum kx_status status = put_aside(options->directory, aside, fault);
    if (status == KX_OK)
        status = archive_restore_with(&restore, aside, &known, fault);
    if (status == KX_OK)
        status = restore_replay(options->directory, lock, known, &restore.stamp,
                                fault);
    if (status == KX_OK && !restore_end(options->directory))
        status = kx_fail(fault, KX_FAILED, "%s: %s", options->directory,
                         strerror(errno));
    if (status == KX_OK)
        kx_log(KX_LOG_WARNING, "restored",
               "archive=%s damaged=%s versionstamp=%016llx0000",
               options->archive, aside, (unsigned long long)restore.stamp);
    return give_up(timeline, aside, status, fault);
}

static enum kx_status refuse(const struct kx_options *options,
                             struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(
        fault, KX_DAMAGED,
        "%s is damaged: %s. Restore a backup into a new directory (kindex "
        "restore BACKUP --data NEW) and serve that; a server with an --archive "
        "of this store does it automatically",
        options->directory, detail);
}

static enum kx_status open_or_mend(struct kx_store *store,
                                   const struct env_options *options,
                                   struct kx_fault *fault)
{
    char timeline[ARCHIVE_PATH];
    struct kx_fault unknown;
    enum kx_status status = archive_look_for_other(&store->options, fault);
    if (status == KX_OK)
        status = dir_inspect(&store->options, store->unchecked, fault);
    if (status != KX_OK && status != KX_DAMAGED)
        return status; /* without a finding nothing is changed */
    if (status == KX_OK)
        status = env_open(store, options, &store->env, fault);
    if (status != KX_DAMAGED && status != KX_FAILED)
        return status;
    kx_log(KX_LOG_ERROR, "damaged", "directory=%s detail=\"%s\"",
           options->directory, fault->detail);
    if (store->options.archive == NULL)
        return refuse(&store->options, fault);
    if (find_timeline(&store->options, timeline, &unknown) != KX_OK)
        return refuse(&store->options, fault);
    status = recover(&store->options, timeline, options->lock, fault);
    store->unchecked->tables = 0;
    return status == KX_OK ? env_open(store, options, &store->env, fault)
                           : status;
}

/* What was restored is new. */
static void look_at_the_rest_later(struct kx_store *store)
{
    struct page_walk *walk = store->unchecked;
    walk->shared = true;
    if (walk->tables == 0)
        suspect_clear(store->options.directory);
}

/* The caller's fault may be NULL; this file needs one. */
enum kx_status recover_open(struct kx_store *store,
                            const struct env_options *options,
                            struct kx_fault *fault)
{
    struct env_options locked = *options;
    struct kx_fault why = {.detail = ""};
    enum kx_status status = foreign_look(&store->options, &why);
    if (status == KX_OK) {
        (void)file_make_parents(
            options->directory); /* dir_lock_take says why */
        status = dir_lock_take(store, options->directory, &locked.lock, &why);
    }
    store->unchecked = talloc_zero(store, struct page_walk);
    if (status == KX_OK && store->unchecked == NULL)
        status = kx_fail(&why, KX_NO_MEMORY, "no memory");
    if (status == KX_OK)
        status = open_or_mend(store, &locked, &why);
    if (status == KX_OK)
        look_at_the_rest_later(store);
    if (fault != NULL && status != KX_OK)
        *fault = why;
    return status;
}
