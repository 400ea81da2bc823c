/* The rows of batches in the log: what a reader of the log files gets is what
 * was applied, in order, and nothing that was taken back. */
#include "storage/row_log.h"

#include "storage/bdb_engine.h"
#include "store.h"

enum { LARGE = 1 << 20 /* several records */ };

static struct test_store test;

/* The rows that the reader has delivered. */
struct seen {
    size_t batches;
    struct kx_buffer text; /* "put KEY SIZE" or "del KEY", one in a line */
};

static enum kx_status note(void *target, const struct row_log_batch *batch)
{
    struct seen *seen = target;
    char size[32];
    for (size_t i = 0; i < batch->count; i++) {
        const struct row_write *write = &batch->writes[i];
        kx_add_text(&seen->text, write->type == ROW_PUT ? "put " : "del ");
        kx_add_slice(&seen->text, write->key);
        snprintf(size, sizeof size, " %zu\n", write->value.size);
        kx_add_text(&seen->text, size);
    }
    seen->batches++;
    return KX_OK;
}

/* Opens the storage, which writes rows or not. */
static struct engine *open_rows(void *mem, bool writes_rows)
{
    struct env *env = test_env(&test, mem);
    assert_int_equal(bdb_engine_log_rows(env, writes_rows), KX_OK);
    bdb_engine_mark_batches(env);
    return bdb_engine(env);
}

static enum kx_status apply(struct engine *engine, enum row_write_type type,
                            const char *key, size_t size, bool part)
{
    static uint8_t value[LARGE];
    struct row_write write = {.type = type,
                              .table = TABLE_ENTRIES,
                              .key = kx_text(key),
                              .value = kx_slice(value, size)};
    struct engine_batch batch = {.writes = &write, .count = 1, .stamp = 1};
    enum kx_status status =
        part ? engine_apply_part(engine, &batch) : engine_apply(engine, &batch);
    assert_int_equal(engine_flush(engine), KX_OK);
    return status;
}

/* Reads the only log file from a place on. */
static enum kx_status read_log(struct log_place from, struct seen *seen,
                               struct log_place *safe_out)
{
    struct kx_fault fault;
    struct log_file file;
    struct row_log_reader reader = {
        .at = from, .safe = from, .each = note, .target = seen};
    void *mem = talloc_new(NULL);
    kx_buffer_init(&reader.rows, mem);
    assert_int_equal(log_file_read(test.directory, from.file, &file, &fault),
                     KX_OK);
    enum kx_status status = row_log_read(&reader, &file, &fault);
    log_file_drop(&file);
    *safe_out = reader.safe;
    talloc_free(mem);
    return status;
}

/* The place where the log ends now. */
static struct log_place end_of(struct engine *engine)
{
    struct log_place end;
    assert_int_equal(log_files_end((struct env *)engine, &end), KX_OK);
    return end;
}

static int close_first(void **state)
{
    (void)state;
    test_store_new(&test);
    test_store_close(&test);
    return 0;
}

static int open_last(void **state)
{
    (void)state;
    test_store_open(&test);
    test_store_remove(&test);
    return 0;
}

static void expect(const struct seen *seen, size_t batches, const char *text)
{
    assert_int_equal(seen->batches, batches);
    assert_int_equal(seen->text.size, strlen(text));
    assert_memory_equal(seen->text.data, text, strlen(text));
}

TEST_WITH(reader_gets_committed_batches_in_order, close_first, open_last)
{
    void *mem = talloc_new(NULL);
    struct seen seen = {.batches = 0};
    struct log_place safe;
    kx_buffer_init(&seen.text, mem);
    struct engine *engine = open_rows(mem, true);
    struct log_place from = end_of(engine);
    assert_int_equal(apply(engine, ROW_INSERT, "a", 5, false), KX_OK);
    assert_int_equal(apply(engine, ROW_PUT, "large", LARGE, true), KX_OK);
    assert_int_equal(apply(engine, ROW_DELETE, "a", 0, false), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_OK);
    expect(&seen, 2, "put a 5\nput large 1048576\ndel a 0\n");
    assert_int_equal(safe.offset, end_of(engine).offset);
    talloc_free(mem);
}

TEST_WITH(reader_gets_nothing_that_was_taken_back, close_first, open_last)
{
    void *mem = talloc_new(NULL);
    struct seen seen = {.batches = 0};
    struct log_place safe;
    kx_buffer_init(&seen.text, mem);
    struct engine *engine = open_rows(mem, true);
    struct log_place from = end_of(engine);
    assert_int_equal(apply(engine, ROW_PUT, "part", LARGE, true), KX_OK);
    engine_take_back(engine);
    assert_int_equal(apply(engine, ROW_PUT, "a", 1, false), KX_OK);
    assert_int_equal(apply(engine, ROW_INSERT, "a", 2, false), KX_CHECK_FAILED);
    assert_int_equal(apply(engine, ROW_PUT, "b", 3, false), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_OK);
    expect(&seen, 2, "put a 1\nput b 3\n");
    talloc_free(mem);
}

TEST_WITH(open_batch_is_read_again_from_its_first_record, close_first,
          open_last)
{
    void *mem = talloc_new(NULL);
    struct seen seen = {.batches = 0};
    struct log_place safe;
    kx_buffer_init(&seen.text, mem);
    struct engine *engine = open_rows(mem, true);
    assert_int_equal(apply(engine, ROW_PUT, "a", 1, false), KX_OK);
    struct log_place from = end_of(engine);
    assert_int_equal(apply(engine, ROW_PUT, "part", LARGE, true), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_OK);
    expect(&seen, 0, "");
    assert_int_equal(safe.offset, from.offset);
    assert_int_equal(apply(engine, ROW_PUT, "b", 1, false), KX_OK);
    assert_int_equal(read_log(safe, &seen, &safe), KX_OK);
    expect(&seen, 1, "put part 1048576\nput b 1\n");
    talloc_free(mem);
}

TEST_WITH(batch_without_rows_stops_the_reader, close_first, open_last)
{
    void *mem = talloc_new(NULL);
    struct seen seen = {.batches = 0};
    struct log_place safe;
    kx_buffer_init(&seen.text, mem);
    struct env *env = test_env(&test, mem);
    struct engine *engine = bdb_engine(env);
    struct log_place from = end_of(engine);
    bdb_engine_mark_batches(env);
    assert_int_equal(apply(engine, ROW_PUT, "a", 1, false), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_DAMAGED);
    assert_int_equal(bdb_engine_log_rows(env, false), KX_OK);
    from = end_of(engine);
    assert_int_equal(read_log(from, &seen, &safe), KX_OK);
    assert_int_equal(engine_flush(engine), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_DAMAGED);
    talloc_free(mem);
}

TEST_WITH(rows_that_look_like_a_mark_are_no_mark, close_first, open_last)
{
    void *mem = talloc_new(NULL);
    struct kx_slice mark = kx_text("kindex-mark 7 7.");
    struct log_place safe;
    struct seen seen = {.batches = 0};
    kx_buffer_init(&seen.text, mem);
    struct engine *engine = open_rows(mem, true);
    struct log_place from = end_of(engine);
    struct row_write write = {
        .type = ROW_PUT, .table = TABLE_ENTRIES, .key = mark, .value = mark};
    struct engine_batch batch = {.writes = &write, .count = 1, .stamp = 1};
    assert_int_equal(engine_apply(engine, &batch), KX_OK);
    assert_int_equal(engine_apply(engine, &batch), KX_OK);
    assert_int_equal(engine_flush(engine), KX_OK);
    assert_int_equal(read_log(from, &seen, &safe), KX_OK);
    assert_int_equal(seen.batches, 2);
    talloc_free(mem);
}
