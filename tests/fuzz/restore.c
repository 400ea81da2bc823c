/* A restore from an archive whose files were damaged: bytes changed, ends cut
 * off, files removed, swapped, renamed and added. The first two bytes of an
 * input choose the commit to restore to; each edit is four bytes: its kind, a
 * file, a place and a value. A restore that succeeds leads to a state that the
 * store had at that commit or before; without an edit, to exactly that
 * commit's.
 */
#include "fuzz.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

enum {
    COMMITS = 12,
    KEYS = 5,
    FILES_MAX = 16,
    EDITS_MAX = 6,
    PATH_MAX_BYTES = 256,
    WAIT_US = 1000,
    WAITS_MAX = 60000
};

struct file {
    char name[PATH_MAX_BYTES]; /* below the archive */
    struct kx_slice bytes;
};

struct archive_files {
    struct file files[FILES_MAX];
    size_t count;
};

static char place[64]; /* the parent of all directories */
static struct archive_files whole;
static char timeline[PATH_MAX_BYTES];   /* its name */
static const char *states[COMMITS + 1]; /* the entries after each commit */
static uint64_t stamps[COMMITS + 1];    /* of each commit */
static char source[PATH_MAX_BYTES];     /* the archive of the store */
static char damaged[PATH_MAX_BYTES];    /* its edited copy */
static char directory[PATH_MAX_BYTES];  /* restored from the copy */

/* The library does not free its memory when it cannot open an environment. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdb-5.3";
}

/* ---- The archive ----------------------------------------------------------
 */

static void leave(void)
{
    test_remove(place);
}

/* Adds a file to `whole`, which lives as long as the program. */
static int collect(const char *path, const struct stat *about, int type,
                   struct FTW *at)
{
    (void)at;
    if (type != FTW_F)
        return 0;
    assert_true(whole.count < FILES_MAX);
    struct file *file = &whole.files[whole.count++];
    uint8_t *bytes = talloc_size(NULL, (size_t)about->st_size + 1);
    FILE *stream = fopen(path, "rbe");
    assert_non_null(stream);
    assert_int_equal(fread(bytes, 1, (size_t)about->st_size, stream),
                     about->st_size);
    fclose(stream);
    snprintf(file->name, sizeof file->name, "%s", path + strlen(source) + 1);
    file->bytes = kx_slice(bytes, (size_t)about->st_size);
    return 0;
}

static bool has_base(void)
{
    for (size_t i = 0; i < whole.count; i++)
        if (strstr(whole.files[i].name, "/base-") != NULL)
            return true;
    return false;
}

static void collect_all(void)
{
    for (size_t i = 0; i < whole.count; i++)
        talloc_free((void *)(uintptr_t)whole.files[i].bytes.data);
    whole.count = 0;
    nftw(source, collect, 8, FTW_PHYS);
}

/* Waits until the archive has a base, so that the base has the commits so far,
 * and the log has later ones. */
static void await_base(void)
{
    for (int i = 0; i < WAITS_MAX && !has_base(); i++) {
        usleep(WAIT_US);
        collect_all();
    }
    assert_true(has_base());
}

static void commit(struct test_store *test, void *memory, int n)
{
    const char *key = talloc_asprintf(memory, "[\"a\",%d]", n % KEYS);
    const char *value = talloc_asprintf(memory, "%d", n);
    enum kx_status status = n % 4 == 3 ? test_delete(test, memory, key)
                                       : test_set(test, memory, key, value);
    assert_int_equal(status, KX_OK);
    struct kx_stats stats;
    kx_stats_read(test->store, &stats);
    stamps[n] = stats.stamp;
    states[n] = talloc_strdup(NULL, test_list(test, memory, "[\"a\"]"));
}

static void make_archive(void *memory)
{
    struct test_store test;
    snprintf(place, sizeof place, "%s/kindex-fuzz-XXXXXX", test_place());
    assert_non_null(mkdtemp(place));
    atexit(leave);
    snprintf(source, sizeof source, "%s/archive", place);
    snprintf(directory, sizeof directory, "%s/restored", place);
    snprintf(damaged, sizeof damaged, "%s/damaged", place);
    kx_log_level(KX_LOG_ERROR);
    test_store_place(&test, place);
    test.options.archive = source;
    test.options.followed = true;
    test_store_open(&test);
    states[0] = "";
    for (int n = 1; n <= COMMITS; n++) {
        commit(&test, memory, n);
        if (n == COMMITS / 2)
            await_base();
    }
    test_store_close(&test);
    collect_all();
    const char *name = whole.files[0].name;
    for (size_t i = 0; i < whole.count; i++)
        if (strstr(whole.files[i].name, "/base-") != NULL)
            name = whole.files[i].name;
    snprintf(timeline, sizeof timeline, "%.*s", (int)strcspn(name, "/"), name);
}

/* ---- Edits -----------------------------------------------------------------
 */

static struct kx_slice longer(struct kx_slice bytes, size_t more, int value,
                              void *memory)
{
    uint8_t *copy = talloc_size(memory, bytes.size + more);
    memcpy(copy, bytes.data, bytes.size);
    memset(copy + bytes.size, value, more);
    return kx_slice(copy, bytes.size + more);
}

static void change_byte(struct file *file, size_t at, uint8_t value,
                        void *memory)
{
    struct kx_slice bytes = fuzz_alone(file->bytes, memory);
    ((uint8_t *)(uintptr_t)bytes.data)[at] ^= value | 1;
    file->bytes = bytes;
}

/* Replaces one letter of the name after the last slash by a digit. */
static void rename_file(struct file *file, uint8_t at, uint8_t value)
{
    char *name = strrchr(file->name, '/') + 1;
    name[at % strlen(name)] = (char)('0' + value % 10);
}

/* Adds the bytes of a file as a log file. */
static void add_log(struct archive_files *archive, const struct file *file,
                    uint8_t number, uint8_t value)
{
    if (archive->count == FILES_MAX)
        return;
    struct file *added = &archive->files[archive->count++];
    added->bytes = file->bytes;
    snprintf(added->name, sizeof added->name, "%s/log.%010u.%s", timeline,
             1 + number % 4, value % 2 == 0 ? "tail" : "zst");
}

static void edit(struct archive_files *archive, struct kx_slice *input,
                 void *memory)
{
    uint8_t kind = fuzz_byte(input);
    size_t n = fuzz_byte(input) % archive->count;
    uint8_t at = fuzz_byte(input);
    uint8_t value = fuzz_byte(input);
    struct file *file = &archive->files[n];
    size_t where = file->bytes.size * at / 256;
    switch (kind % 7) {
    case 0:
        if (file->bytes.size > 0)
            change_byte(file, where, value, memory);
        break;
    case 1:
        file->bytes.size = where;
        break;
    case 2:
        file->name[0] = '\0';
        break;
    case 3:
        file->bytes = longer(kx_slice(file->bytes.data, where),
                             file->bytes.size - where + at, value, memory);
        break;
    case 4: {
        struct file *other = &archive->files[value % archive->count];
        struct kx_slice bytes = file->bytes;
        file->bytes = other->bytes;
        other->bytes = bytes;
        break;
    }
    case 5:
        if (file->name[0] != '\0')
            rename_file(file, at, value);
        break;
    default:
        add_log(archive, file, at, value);
    }
}

static void make_parents(char *path)
{
    for (char *at = path + strlen(place) + 1; (at = strchr(at, '/')) != NULL;
         at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

static void write_file(const struct file *file)
{
    char path[2 * PATH_MAX_BYTES];
    if (file->name[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s/%s", damaged, file->name);
    make_parents(path);
    FILE *stream = fopen(path, "wbe");
    assert_non_null(stream);
    if (file->bytes.size > 0)
        assert_int_equal(fwrite(file->bytes.data, 1, file->bytes.size, stream),
                         file->bytes.size);
    assert_int_equal(fclose(stream), 0);
}

/* ---- What is restored
 * -------------------------------------------------------- */

/* Returns the number of the last commit after which the store had these
 * entries. */
static int find_state(const char *state)
{
    for (int n = COMMITS; n >= 0; n--)
        if (strcmp(states[n], state) == 0)
            return n;
    fail_msg("no commit has left the store so: %s", state);
    return 0;
}

static int restored_state(void *memory)
{
    struct test_store test;
    test_store_place(&test, place);
    test_remove(test.directory);
    test.options.directory = directory;
    test_store_open(&test);
    int state = find_state(test_list(&test, memory, "[\"a\"]"));
    test_store_close(&test);
    return state;
}

void fuzz(struct kx_slice input, void *memory)
{
    if (place[0] == '\0')
        make_archive(memory);
    struct archive_files archive = whole;
    struct kx_fault fault = {.detail = ""};
    struct kx_restore restore = {.source = damaged, .directory = directory};
    int last = COMMITS;
    if (fuzz_byte(&input) % 2 == 1) {
        /* The base has the first half of the commits: choose a later one. */
        last = COMMITS / 2 + 1 + fuzz_byte(&input) % (COMMITS / 2);
        restore.to_stamp = stamps[last];
    }
    bool edited = input.size > 0;
    for (int i = 0; i < EDITS_MAX && input.size > 0; i++)
        edit(&archive, &input, memory);
    for (size_t i = 0; i < archive.count; i++)
        write_file(&archive.files[i]);
    enum kx_status status = kx_restore(&restore, &fault);
    assert_true(status == KX_OK || status == KX_BAD_ARCHIVE ||
                status == KX_DAMAGED);
    assert_true(status == KX_OK || fault.detail[0] != '\0');
    if (status == KX_OK) {
        int state = restored_state(memory);
        assert_true(state <= last);
        assert_true(edited || state == last);
    }
    assert_true(edited || status == KX_OK);
    test_remove(damaged);
    test_remove(directory);
}
