/* Rows of an index that is to replace another of the same name: readers can ask
 * for their keys while they are made. The Makefile puts __wrap_X where the core
 * calls X. */
#include "store.h"

#include <stdatomic.h>

#include "builds/build_rows.h"

enum kx_status __real_build_merge_rows(struct kx_store *store, void *mem,
                                       struct batch *batch, size_t count);
enum kx_status __wrap_build_merge_rows(struct kx_store *store, void *mem,
                                       struct batch *batch, size_t count);
enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);

static atomic_bool keeping;       /* no row can be removed */
static struct kx_reader *between; /* reads when rows are placed; or NULL */
static struct kx_slice asked;     /* the key that it reads */
static atomic_int answers;

/* After the cache was told to forget the rows, before they are applied. */
enum kx_status __wrap_build_merge_rows(struct kx_store *store, void *mem,
                                       struct batch *batch, size_t count)
{
    struct kx_buffer record;
    struct kx_entry entry;
    enum kx_status status = __real_build_merge_rows(store, mem, batch, count);
    if (between == NULL)
        return status;
    kx_buffer_init(&record, mem);
    kx_read_begin(between);
    atomic_fetch_add(&answers, kx_read(between, asked, &record, &entry, NULL) ==
                                   KX_ABSENT);
    kx_read_end(between);
    return status;
}

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    return writes[0].type == ROW_DELETE && atomic_load(&keeping)
               ? KX_NO_MEMORY
               : __real_txn_apply(env, writes, count, order);
}

static void set(struct story *s, const char *key, const char *value,
                enum kx_status wanted)
{
    assert_int_equal(test_set(&s->test, s->mem, key, value), wanted);
}

static void change(struct story *s, enum kx_command_kind kind)
{
    struct kx_commit commit = {.command.kind = kind,
                               .command.index_name = kx_text("i"),
                               .command.declaration =
                                   kx_text("{\"unique\":true}"),
                               .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

/* The index's state, or its migration's while it has one. */
static void wait_for(struct story *s, enum kx_index_state wanted)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    do {
        usleep(1000);
        assert_int_equal(test_index(&s->test, "i", &info), KX_OK);
    } while (info.state == KX_INDEX_MIGRATING ? info.migration != wanted
                                              : info.state != wanted);
}

/* The first migration leaves rows, which the second one overwrites. A reader
 * that reads them in between, under the name that the old index still has, must
 * not bring them back into the cache. */
TEST_WITH(replacing_an_index_drops_cached_rows, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"i\",\"prefix\":[\"u\"],\"fields\":[\"/e\"]}"),
        KX_OK);
    set(s, "[\"u\",1]", "{\"e\":\"a\"}", KX_OK);
    set(s, "[\"u\",2]", "{\"e\":\"b\"}", KX_OK);
    set(s, "[\"u\",3]", "{\"e\":\"b\"}", KX_OK);
    change(s, KX_MIGRATE_INDEX);
    wait_for(s, KX_INDEX_CONFLICTED);
    atomic_store(&keeping, true);
    change(s, KX_UNDO_MIGRATION);
    set(s, "[\"u\",3]", "{\"e\":\"A\"}", KX_OK);
    asked = test_key(s->mem, "[\"i\",\"a\"]");
    assert_int_equal(kx_reader_open(s->test.store, &between), KX_OK);
    change(s, KX_MIGRATE_INDEX);
    wait_for(s, KX_INDEX_READY);
    assert_true(atomic_load(&answers) > 0);
    atomic_store(&keeping, false);
    assert_non_null(test_get(&s->test, s->mem, "[\"i\",\"a\"]"));
    set(s, "[\"u\",4]", "{\"e\":\"a\"}", KX_UNIQUE_VIOLATION);
    kx_reader_close(between);
    between = NULL;
}
