/* Replies that are parked after a batch is applied and before its flush are
 * answered, whether a commit or a job made the batch, and without a later
 * write. The Makefile puts __wrap_view_flushed where the core calls
 * view_flushed. */
#include "store.h"

#include "commit/view.h"

void __real_view_flushed(struct view *view, uint64_t batch);
void __wrap_view_flushed(struct view *view, uint64_t batch);

/* A reply that is parked by a batch to come, just before that is flushed. */
static struct {
    _Atomic(struct kx_store *) store; /* NULL: it is parked, or there is none */
    int batches;                      /* until then */
    struct kx_ticket ticket;
    enum kx_status status;
    bool told;
} reply;

/* On the thread that does the writer's work. */
void __wrap_view_flushed(struct view *view, uint64_t batch)
{
    if (reply.store != NULL && --reply.batches == 0) {
        reply.status = kx_wait(reply.store, batch, &reply.ticket);
        reply.store = NULL;
    }
    __real_view_flushed(view, batch);
}

static void park_by_batch(struct story *s, int number)
{
    reply.batches = number;
    reply.told = false;
    reply.status = KX_END;
    reply.ticket = (struct kx_ticket){.owner = &reply.told};
    reply.store = s->test.store;
}

static void is_let_go(struct story *s)
{
    test_wait(&s->test, &reply.told);
    assert_int_equal(reply.status, KX_OK);
}

TEST_WITH(flush_of_a_commit_answers_parked_replies, begin, finish)
{
    struct story *s = *state;
    park_by_batch(s, 1);
    assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", "1"), KX_OK);
    is_let_go(s);
}

TEST_WITH(expiry_answers_parked_replies, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(1000000);
    assert_int_equal(test_set_until(&s->test, s->mem, "[\"a\"]", 1000500),
                     KX_OK);
    park_by_batch(s, 1);
    kx_clock_set(1000500);
    is_let_go(s);
}

/* The commit that lets the build go is a batch, and then the build makes one.
 */
TEST_WITH(build_answers_parked_replies, begin, finish)
{
    struct story *s = *state;
    struct kx_commit declare = {
        .command.kind = KX_DECLARE_INDEX,
        .command.declaration = kx_text("{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                                       "\"fields\":[\"/n\"]}"),
        .command.pace.paused = true,
        .memory = s->mem};
    struct kx_commit pace = {.command.kind = KX_PACE_INDEX,
                             .command.index_name = kx_text("by_n"),
                             .command.pace.sets_paused = true,
                             .memory = s->mem};
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":1}");
    assert_int_equal(test_commit(&s->test, &declare), KX_OK);
    park_by_batch(s, 2);
    assert_int_equal(test_commit(&s->test, &pace), KX_OK);
    is_let_go(s);
}

TEST_WITH(freeing_a_dropped_index_answers_parked_replies, begin, finish)
{
    struct story *s = *state;
    test_declare_by_n(&s->test, s->mem);
    park_by_batch(s, 2);
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    is_let_go(s);
}
