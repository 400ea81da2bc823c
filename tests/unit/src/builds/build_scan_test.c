/* The rows that one scan gathers for all indexes that are built together. No
 * index is built here: the Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include "builds/build_job.h"
#include "commit/job.h"

enum { INDEXES = 6, ELEMENTS = 60, BYTES = 900000, LIMIT = 1000 };

void __wrap_build_job_step(struct kx_store *store);

void __wrap_build_job_step(struct kx_store *store)
{
    (void)store;
    usleep(1000);
}

/* In each index that holds copies it has 54 MB. The budget of a store with such
 * values lets a commit write them all. */
static void set_large(struct story *s)
{
    struct kx_buffer text;
    s->test.store->writer.base.value_max = 128 << 20;
    kx_buffer_init(&text, s->mem);
    kx_add_text(&text, "{\"tags\":[0");
    for (int i = 1; i < ELEMENTS; i++)
        kx_add_text(&text, talloc_asprintf(s->mem, ",%d", i));
    kx_add_text(&text,
                talloc_asprintf(s->mem, "],\"text\":\"%0*d\"}", BYTES, 0));
    kx_add_byte(&text, 0);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",\"large\"]",
                              (const char *)text.data),
                     KX_OK);
}

static struct index *declare(struct story *s, int n)
{
    const char *name = talloc_asprintf(s->mem, "copies%d", n);
    assert_int_equal(
        test_declare(
            &s->test, s->mem,
            talloc_asprintf(s->mem,
                            "{\"name\":\"%s\",\"prefix\":[\"u\"],"
                            "\"fields\":[{\"path\":\"/tags\",\"each\":true}],"
                            "\"store\":\"value\"}",
                            name)),
        KX_OK);
    return catalog_find(s->test.store->catalog, kx_text(name));
}

/* The most indexes of one scan that have rows of the entry. */
static size_t indexes_of_a_scan(struct story *s, struct index *leader)
{
    struct build_set *set = build_set_create(&s->test.store->writer);
    size_t count = 0;
    assert_non_null(set);
    struct build_scan *scan = build_scan_create(set, leader, LIMIT);
    assert_non_null(scan);
    assert_int_equal(set->count, INDEXES);
    assert_ptr_equal(build_rows_index(set->rows[0]), leader);
    while (build_scan_read(scan, LIMIT, SIZE_MAX) == KX_OK)
        ;
    for (size_t i = 0; i < set->count; i++) {
        bool complete = build_rows_complete(set->rows[i]);
        assert_int_equal(build_rows_gathered(set->rows[i]),
                         complete ? ELEMENTS : 0);
        count += complete;
    }
    talloc_free(set);
    return count;
}

/* The first ones have more than 128 MiB together; the others wait. */
TEST_WITH(scan_drops_indexes_that_exceed_the_shared_memory, begin, finish)
{
    struct story *s = *state;
    struct index *indexes[INDEXES];
    set_large(s);
    for (int n = 0; n < INDEXES; n++)
        indexes[n] = declare(s, n);
    assert_int_equal(indexes_of_a_scan(s, indexes[0]), 3);
    assert_int_equal(indexes_of_a_scan(s, indexes[3]), 3);
}

/* 128 MiB of build memory gather the rows of four indexes. */
TEST_WITH(more_build_memory_gathers_more_indexes, begin, finish)
{
    struct story *s = *state;
    struct index *first = NULL;
    s->test.store->writer.build.memory = 128 << 20;
    set_large(s);
    for (int n = 0; n < INDEXES; n++) {
        struct index *index = declare(s, n);
        first = first == NULL ? index : first;
    }
    assert_int_equal(indexes_of_a_scan(s, first), 4);
}

/* A step is short also when the rows are large. */
TEST_WITH(large_rows_are_spilled_in_many_steps, begin, finish)
{
    struct story *s = *state;
    struct build_set *set = build_set_create(&s->test.store->writer);
    size_t steps = 0;
    set_large(s);
    struct build_scan *scan = build_scan_create(set, declare(s, 0), LIMIT);
    assert_non_null(scan);
    while (build_scan_read(scan, LIMIT, SIZE_MAX) == KX_OK)
        ;
    struct build_rows *rows = set->rows[0];
    size_t bytes = build_rows_bytes(rows);
    assert_true(build_rows_spill(rows, s->test.directory));
    for (; build_rows_spilling(rows); steps++)
        assert_int_equal(build_rows_spill_step(rows, LIMIT), KX_OK);
    assert_true(steps >= bytes / (2 * JOB_BYTES_MAX));
    assert_int_equal(build_rows_gathered(rows), ELEMENTS);
    talloc_free(set);
}
