/* The world of operations: see alloc_world.h. */
#include "alloc_world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "commit/store_state.h"
#include "test_place.h"

enum { PATIENCE_MS = 20000 };
enum { HOLE = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE };

static const char *const SUFFIXES[] = {".backup", ".restored", ".archive"};

struct attempt attempt;

void world_new(struct world *world)
{
    test_store_new_at(&world->test, test_place());
}

char *world_path(struct world *world, const char *suffix)
{
    alloc_exempt(true);
    char *path =
        talloc_asprintf(world->mem, "%s%s", world->test.directory, suffix);
    alloc_exempt(false);
    return path;
}

void world_remove(struct world *world)
{
    char path[sizeof world->test.directory + 16];
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
        snprintf(path, sizeof path, "%s%s", world->test.directory, SUFFIXES[i]);
        test_remove(path);
    }
    test_store_remove(&world->test);
}

void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("FAILED  %s, allocation %zu: ", attempt.operation, attempt.point);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    if (attempt.failures++ < 20)
        alloc_where();
}

/* ---- The whole state, as text ------------------------------------------- */

static void show_indexes(struct kx_reader *reader, struct kx_buffer *out)
{
    struct kx_index_info info;
    for (size_t n = 0; kx_index_at(reader, n, &info) == KX_OK; n++) {
        if (info.state == KX_INDEX_DROPPING)
            continue;
        kx_add_slice(out, info.declaration);
        kx_add_text(out, kx_index_state_text(info.state));
        kx_add_text(out, info.target.size > 0 ? " migrates\n" : "\n");
    }
}

static void show_tokens(struct kx_store *store, struct kx_buffer *out)
{
    struct kx_token *token;
    char id[KX_TOKEN_ID_SIZE + 1] = "";
    while ((token = kx_token_after(store, kx_text(id))) != NULL) {
        memcpy(id, token->id, sizeof id);
        if (!token->fixed) {
            kx_add_text(out, token->id);
            kx_add_slice(out, token->name);
            kx_add_byte(out, '\n');
        }
        kx_token_release(token);
    }
}

static void show_entries(struct kx_reader *reader, struct kx_buffer *out)
{
    struct kx_range range = {.start = kx_slice("\x01", 1),
                             .end = kx_slice("\xff", 1)};
    struct kx_entry entry;
    enum kx_status status = kx_scan(reader, &range, NULL);
    while (status == KX_OK && (status = kx_scan_next(reader, &entry)) == KX_OK)
        test_show(&entry, out);
    if (status != KX_END)
        wrong("reading everything: %s", kx_status_name(status));
}

const char *world_show(const struct test_store *test, const void *mem)
{
    struct kx_buffer out;
    kx_buffer_init(&out, mem);
    kx_read_begin(test->reader);
    show_indexes(test->reader, &out);
    show_tokens(test->store, &out);
    show_entries(test->reader, &out);
    kx_read_end(test->reader);
    kx_add_byte(&out, 0);
    return (const char *)out.data;
}

/* ---- Waiting ------------------------------------------------------------ */

/* Is it worth another look? The ms-th. */
static bool may_look(struct world *world, int ms)
{
    if (ms > 0)
        usleep(ms <= 20 ? 100 : 1000);
    if (ms == 21 && world->persistent)
        alloc_disarm(); /* it would be waited for without end */
    return ms < PATIENCE_MS;
}

enum kx_status wait_index(struct world *world, const char *name,
                          settled_fn *settled)
{
    struct kx_index_info info;
    for (int ms = 0; may_look(world, ms); ms++) {
        enum kx_status status = test_index(&world->test, name, &info);
        if (status != KX_OK || settled(&info))
            return status;
    }
    return KX_AGAIN;
}

/* No reader is told of them: an index is gone when it is dropped. */
static bool any_dropping(struct test_store *test)
{
    kx_read_begin(test->reader);
    bool any = test->store->catalog->dropping_count > 0;
    kx_read_end(test->reader);
    return any;
}

enum kx_status wait_freed(struct world *world)
{
    for (int ms = 0; may_look(world, ms); ms++)
        if (!any_dropping(&world->test))
            return KX_OK;
    return KX_AGAIN;
}

bool index_is_built(const struct kx_index_info *info)
{
    return info->state != KX_INDEX_BUILDING &&
           info->state != KX_INDEX_MIGRATING &&
           info->state != KX_INDEX_DROPPING && info->target.size == 0;
}

/* ---- Doing -------------------------------------------------------------- */

struct kx_slice key_of(struct world *world, const char *json)
{
    alloc_exempt(true);
    struct kx_slice key = test_key(world->mem, json);
    alloc_exempt(false);
    return key;
}

struct kx_mutation put(struct world *world, const char *key, const char *value)
{
    return (struct kx_mutation){
        .type = KX_SET, .key = key_of(world, key), .value = test_json(value)};
}

enum kx_status commit(struct world *world, struct kx_mutation *mutations,
                      size_t count)
{
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = count, .memory = world->mem};
    return test_commit(&world->test, &commit);
}

enum kx_status change(struct world *world, enum kx_command_kind kind,
                      const char *name, const char *declaration)
{
    struct kx_commit commit = {.command.kind = kind,
                               .command.index_name = kx_text(name),
                               .command.declaration = kx_text(declaration),
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

void done(enum kx_status status, const char *what)
{
    if (status != KX_OK)
        wrong("%s: %s", what, kx_status_name(status));
}

void furnish(struct world *world)
{
    struct kx_mutation mutations[] = {
        put(world, "[\"u\",1]", "{\"e\":\"a@x\",\"t\":[\"r\",\"b\"],\"n\":1}"),
        put(world, "[\"u\",2]", "{\"e\":\"b@x\",\"t\":[\"r\"],\"n\":2}"),
        put(world, "[\"u\",3]", "{\"e\":\"c@x\",\"t\":[],\"n\":3}"),
        put(world, "[\"n\",1]", "1"),
        put(world, "[\"n\",2]", "{\"a\":{\"b\":1}}"),
        put(world, "[\"x\",\"old\"]", "true"),
    };
    done(commit(world, mutations, sizeof mutations / sizeof *mutations),
         "furnishing");
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_e\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/e\",\"fold\":\"lower\"}],\"unique\":true}"),
         "declaring");
    done(test_declare(&world->test, world->mem,
                      "{\"name\":\"by_t\",\"prefix\":[\"u\"],\"fields\":[{"
                      "\"path\":\"/t\",\"each\":true}],\"store\":\"value\"}"),
         "declaring");
    wait_index(world, "by_e", index_is_built);
    wait_index(world, "by_t", index_is_built);
}

/* ---- Zeros -------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return size >= 4096 && bytes[0] == 0 &&
           memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Makes a hole there. */
static bool make_hole(int fd, const void *bytes, size_t size, off_t at)
{
    struct stat about;
    off_t end = at + (off_t)size;
    if (at < 0 || !is_zero(bytes, size) || fstat(fd, &about) != 0 ||
        !S_ISREG(about.st_mode))
        return false;
    return (at >= about.st_size || fallocate(fd, HOLE, at, (off_t)size) == 0) &&
           (end <= about.st_size || ftruncate(fd, end) == 0);
}

/* Log files are filled with zeros, 16 MiB, whenever a store is opened: here
 * holes take their place, and an opening a fraction of the time. These are the
 * program's own write() and pwrite(), also for its libraries. */
ssize_t write(int fd, const void *bytes, size_t size)
{
    off_t at = size < 4096 ? -1 : lseek(fd, 0, SEEK_CUR);
    if (make_hole(fd, bytes, size, at) &&
        lseek(fd, (off_t)size, SEEK_CUR) == at + (off_t)size)
        return (ssize_t)size;
    return syscall(SYS_write, fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return make_hole(fd, bytes, size, at)
               ? (ssize_t)size
               : syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    return pwrite(fd, bytes, size, at);
}
