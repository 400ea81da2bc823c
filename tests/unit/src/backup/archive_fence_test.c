/* The numbers of pieces: each is taken once, by a server that continues the
 * last timeline or by one that is promoted, whatever replies and lists say. */
#include "archive_story.h"

#include <sys/stat.h>

#include "backup/archive_fence.h"
#include "backup/object_dir.h"

/* An object store in the directory of the archive, with faults. */
struct faulty {
    struct kx_object_store store;
    const struct kx_object_store *directory;
    int lost;        /* creations whose reply is lost, or that must not be tried
                      * again: each succeeds and fails */
    int old_lists;   /* lists that lack the last piece */
    uint64_t hidden; /* its number */
};

static enum kx_status make(void *self, const char *path, struct kx_fault *fault)
{
    struct faulty *faulty = self;
    return faulty->directory->make(NULL, path, fault);
}

struct short_list {
    struct faulty *faulty;
    kx_object_fn *each;
    void *target;
};

static bool show(void *target, const struct kx_object *object)
{
    struct short_list *list = target;
    char name[32];
    snprintf(name, sizeof name, "%020llu",
             (unsigned long long)list->faulty->hidden);
    return strcmp(object->name, name) == 0 || list->each(list->target, object);
}

static enum kx_status list(void *self, const char *path, kx_object_fn *each,
                           void *target, struct kx_fault *fault)
{
    struct faulty *faulty = self;
    struct short_list shorter = {faulty, each, target};
    if (faulty->old_lists == 0)
        return faulty->directory->list(NULL, path, each, target, fault);
    faulty->old_lists--;
    return faulty->directory->list(NULL, path, show, &shorter, fault);
}

static enum kx_status create(void *self, const char *path,
                             struct kx_slice bytes, struct kx_fault *fault)
{
    struct faulty *faulty = self;
    enum kx_status status = faulty->directory->create(NULL, path, bytes, fault);
    if (status != KX_OK || faulty->lost == 0)
        return status;
    faulty->lost--;
    return kx_fail(fault, KX_UNREACHABLE, "lost");
}

static enum kx_status get(void *self, const char *path,
                          kx_object_bytes_fn *bytes, void *target,
                          struct kx_fault *fault)
{
    struct faulty *faulty = self;
    return faulty->directory->get(NULL, path, bytes, target, fault);
}

static enum kx_status remove_object(void *self, const char *path,
                                    struct kx_fault *fault)
{
    struct faulty *faulty = self;
    return faulty->directory->remove(NULL, path, fault);
}

static void init_faulty(struct faulty *faulty)
{
    *faulty = (struct faulty){.store = {.self = faulty,
                                        .make = make,
                                        .list = list,
                                        .create = create,
                                        .get = get,
                                        .remove = remove_object},
                              .directory = object_store_of(NULL)};
}

static const struct log_place END = {3, 400};

/* The fence of a data directory, which is made, on the archive of the story. */
static void open_fence(struct story *s, const struct kx_object_store *objects,
                       const char *name, struct archive_fence *fence)
{
    struct kx_fault fault;
    struct kx_options options = {
        .directory = talloc_asprintf(s->mem, "%s/%s", archive_of(s), name),
        .archive = archive_of(s),
        .objects = objects};
    (void)mkdir(archive_of(s), 0700);
    (void)mkdir(options.directory, 0700);
    assert_int_equal(
        archive_fence_init(fence, &options, options.archive, 5000, &fault),
        KX_OK);
}

static void take(struct archive_fence *fence, uint64_t number)
{
    struct kx_fault fault = {.detail = ""};
    assert_int_equal(archive_fence_take(fence, END, NULL, &fault), KX_OK);
    assert_int_equal(fence->piece.number, number);
}

static void loses(struct archive_fence *fence)
{
    struct kx_fault fault = {.detail = ""};
    assert_int_equal(archive_fence_take(fence, END, NULL, &fault), KX_IN_USE);
    assert_non_null(strstr(fault.detail, "another server was promoted"));
}

TEST_WITH(promoted_standby_stops_the_server_before_it, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence old, new;
    struct archive_piece last;
    open_fence(s, NULL, "old", &old);
    take(&old, 1);
    take(&old, 2);
    open_fence(s, NULL, "new", &new);
    loses(&new); /* it is no server's continuation unless it says so */
    assert_int_equal(archive_fence_take(&new, END, old.piece.timeline, &fault),
                     KX_OK);
    assert_int_equal(new.first, 3);
    assert_int_equal(new.before.number, 2);
    assert_int_equal(new.before.end.offset, END.offset);
    loses(&old);
    loses(&old);
    open_fence(s, NULL, "old", &old); /* the next process */
    loses(&old);
    take(&new, 4);
    assert_int_equal(archive_fence_last(&new, &last, &fault), KX_OK);
    assert_int_equal(last.number, 4);
    assert_int_equal(last.lease_ms, 5000);
    assert_string_equal(last.timeline, new.piece.timeline);
}

TEST_WITH(one_of_two_standbys_is_promoted, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence old, one, two;
    open_fence(s, NULL, "old", &old);
    open_fence(s, NULL, "one", &one);
    open_fence(s, NULL, "two", &two);
    take(&old, 1);
    assert_int_equal(archive_fence_take(&one, END, old.piece.timeline, &fault),
                     KX_OK);
    assert_int_equal(archive_fence_take(&two, END, old.piece.timeline, &fault),
                     KX_IN_USE);
}

/* A promotion that was interrupted after it had taken its number. */
TEST_WITH(promotion_that_begins_again_has_its_number, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence old, new;
    open_fence(s, NULL, "old", &old);
    take(&old, 1);
    for (int i = 0; i < 2; i++) {
        open_fence(s, NULL, "new", &new);
        assert_int_equal(
            archive_fence_take(&new, END, old.piece.timeline, &fault), KX_OK);
    }
    loses(&old);
}

TEST_WITH(newer_process_of_a_timeline_stops_the_older, begin, finish_archive)
{
    struct story *s = *state;
    struct archive_fence one, two;
    open_fence(s, NULL, "old", &one);
    take(&one, 1);
    open_fence(s, NULL, "old", &two);
    take(&two, 2);
    loses(&one);
    take(&two, 3);
}

TEST_WITH(number_whose_reply_was_lost_is_taken, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence fence;
    struct faulty faulty;
    init_faulty(&faulty);
    open_fence(s, &faulty.store, "old", &fence);
    take(&fence, 1);
    faulty.lost = 1;
    assert_int_equal(archive_fence_take(&fence, END, NULL, &fault),
                     KX_UNREACHABLE);
    take(&fence, 2);
    take(&fence, 3);
}

/* Old pieces are removed, so a list that lacks the last pieces leads to a
 * number that can be created and is no fence. */
TEST_WITH(number_in_a_gap_is_not_taken, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence old, new;
    struct faulty faulty;
    char path[ARCHIVE_PATH + 32];
    init_faulty(&faulty);
    open_fence(s, NULL, "old", &old);
    for (uint64_t number = 1; number <= 100; number++)
        take(&old, number);
    snprintf(path, sizeof path, "%s/%020d", old.directory, 2);
    assert_int_equal(access(path, F_OK), -1); /* removed */
    snprintf(path, sizeof path, "%s/%020d", old.directory, 1);
    assert_int_equal(access(path, F_OK), 0); /* the first stays */
    for (int number = 3; number < 100; number++) {
        snprintf(path, sizeof path, "%s/%020d", old.directory, number);
        (void)unlink(path);
    }
    open_fence(s, &faulty.store, "new", &new);
    faulty.old_lists = 1;
    faulty.hidden = 100;
    assert_int_equal(archive_fence_take(&new, END, old.piece.timeline, &fault),
                     KX_OK);
    assert_int_equal(new.piece.number, 101);
    loses(&old);
}

/* A process that was frozen before its number, while a promoted server took
 * hundreds: the number is still taken. */
TEST_WITH(first_number_of_a_promotion_stays, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence old, new;
    open_fence(s, NULL, "old", &old);
    take(&old, 1);
    open_fence(s, NULL, "new", &new);
    assert_int_equal(archive_fence_take(&new, END, old.piece.timeline, &fault),
                     KX_OK);
    for (uint64_t number = 3; number < 300; number++)
        take(&new, number);
    loses(&old);
}

TEST_WITH(damaged_piece_is_reported, begin, finish_archive)
{
    struct story *s = *state;
    struct kx_fault fault = {.detail = ""};
    struct archive_fence fence;
    open_fence(s, NULL, "old", &fence);
    take(&fence, 1);
    make_file(fence.directory, "00000000000000000007");
    open_fence(s, NULL, "old", &fence);
    assert_int_equal(archive_fence_take(&fence, END, NULL, &fault),
                     KX_BAD_ARCHIVE);
    assert_non_null(strstr(fault.detail, "00000000000000000007 is damaged"));
}
