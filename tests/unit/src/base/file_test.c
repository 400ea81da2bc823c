/* A directory that was made is there after a power cut: the one that holds it
 * is synced. The Makefile puts __wrap_fsync where the core calls fsync. */
#include "store.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"

int __real_fsync(int fd);
int __wrap_fsync(int fd);

static ino_t synced; /* the last directory that was */

int __wrap_fsync(int fd)
{
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode))
        synced = about.st_ino;
    return __real_fsync(fd);
}

static ino_t number_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

TEST_WITH(new_directory_syncs_its_parent, begin, finish)
{
    struct story *s = *state;
    const char *parent = s->test.directory;
    const char *names[] = {"new", "with-slashes//"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = talloc_asprintf(s->mem, "%s/%s", parent, names[i]);
        synced = 0;
        assert_true(file_make_directory(path));
        assert_int_equal(synced, number_of(parent));
        synced = 0;
        assert_true(file_make_directory(path)); /* it is there */
        assert_int_equal(synced, 0);
        assert_int_equal(rmdir(path), 0);
    }
}

TEST_WITH(directory_that_cannot_be_made_fails_with_errno, begin, finish)
{
    struct story *s = *state;
    char *path = talloc_asprintf(s->mem, "%s/none/new", s->test.directory);
    assert_false(file_make_directory(path));
    assert_int_equal(errno, ENOENT);
}

TEST_WITH(missing_parents_of_a_path_are_made, begin, finish)
{
    struct story *s = *state;
    const char *parent = s->test.directory;
    char *path = talloc_asprintf(s->mem, "%s/a//b/c/", parent);
    char *above = talloc_asprintf(s->mem, "%s/a/b", parent);
    struct stat about;
    assert_true(file_make_parents(path));
    assert_int_equal(synced,
                     number_of(talloc_asprintf(s->mem, "%s/a", parent)));
    assert_int_equal(stat(above, &about), 0);
    assert_int_equal(stat(path, &about), -1); /* the path itself is not */
    synced = 0;
    assert_true(file_make_parents(path)); /* they are there */
    assert_int_equal(synced, 0);
    assert_int_equal(rmdir(above), 0);
    fclose(fopen(above, "w"));
    assert_true(file_make_parents(path)); /* which then cannot be made */
    assert_false(file_make_parents(talloc_asprintf(s->mem, "%sd/e", path)));
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(unlink(above), 0);
    assert_true(file_make_parents("plain"));
}
