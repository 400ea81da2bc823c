/* Index rows that a touch writes, on a real store. */
#include "store.h"

#define BY_COLOR                                                               \
    "{\"name\":\"by_color\",\"prefix\":[\"users\"],\"fields\":[\"/color\"]}"
#define COPY_BY_COLOR                                                          \
    "{\"name\":\"copies\",\"prefix\":[\"users\"],\"fields\":[\"/color\"],"     \
    "\"store\":\"value\"}"

/* Rows of the index that commits have put or removed. */
static uint64_t rows_written(struct story *s, const char *name)
{
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_find(s->test.reader, kx_text(name), &info),
                     KX_OK);
    kx_read_end(s->test.reader);
    return info.writes;
}

TEST_WITH(touch_moves_no_index_row, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(test_declare(&s->test, s->mem, BY_COLOR), KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem, COPY_BY_COLOR), KX_OK);
    test_set(&s->test, s->mem, "[\"users\",\"u1\"]",
             "{\"email\":\"a@x\",\"color\":\"blue\"}");
    uint64_t before = rows_written(s, "by_color");
    uint64_t copies = rows_written(s, "copies");
    struct kx_mutation touch = {.type = KX_TOUCH,
                                .key = test_key(s->mem, "[\"users\",\"u1\"]"),
                                .expires_at_ms = INT64_C(4000000000000)};
    struct kx_commit commit = {
        .mutations = &touch, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    /* The row is overwritten with its time, and not removed. */
    assert_int_equal(rows_written(s, "by_color"), before + 1);
    assert_int_equal(rows_written(s, "copies"), copies + 1);
    /* Without another time nothing is written. */
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_int_equal(rows_written(s, "by_color"), before + 1);
}
