#include "archive_story.h"

#include "backup/archive_names.h"
#include "backup/archive_timeline.h"
#include "backup/object_dir.h"

const char *archive_of(struct story *s)
{
    return talloc_asprintf(s->mem, "%s-archive", s->test.directory);
}

void open_again(struct story *s, const char *archive)
{
    test_store_close(&s->test);
    s->test.options.archive = archive;
    test_store_open(&s->test);
}

int finish_archive(void **state)
{
    struct story *s = *state;
    test_remove(archive_of(s));
    return finish(state);
}

char *timeline_of(struct story *s)
{
    struct kx_fault fault;
    char *timeline = talloc_array(s->mem, char, ARCHIVE_PATH);
    assert_int_equal(
        archive_timeline(archive_of(s), s->test.directory, timeline, &fault),
        KX_OK);
    return timeline;
}

struct base_count {
    size_t count;
    int64_t last_ms; /* of the one that has most in it */
    uint64_t last_stamp;
};

static void count_base(void *target, const struct archive_base *base)
{
    struct base_count *bases = target;
    bases->count++;
    if (base->stamp >= bases->last_stamp)
        bases->last_ms = base->at_ms;
    if (base->stamp >= bases->last_stamp)
        bases->last_stamp = base->stamp;
}

void wait_for_bases(struct story *s, size_t count, int64_t last_ms)
{
    struct base_count bases;
    struct kx_fault fault;
    uint64_t began_ns = kx_monotonic_ns();
    do {
        assert_true(kx_monotonic_ns() - began_ns < UINT64_C(60000000000));
        usleep(10000);
        bases = (struct base_count){.count = 0};
        (void)archive_all_bases(object_store_of(NULL), archive_of(s),
                                count_base, &bases, &fault);
    } while (bases.count != count ||
             (last_ms != 0 && bases.last_ms != last_ms));
}

void make_file(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}
