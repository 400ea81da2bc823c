/* A caller that cannot wait for a view is parked. The parked callers are
 * answered in order when views may be entered, and the writer waits for their
 * retries before it keeps views out again. The Makefile puts __wrap_X where the
 * core calls X. */
#include "unit.h"

#include "commit/view.h"
#include "base/cond_wait.h"

bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns);

/* Tickets in the order in which they were answered. */
struct answers {
    struct view view;
    struct kx_ticket tickets[3];
    const struct kx_ticket *order[8];
    size_t count;
};

static unsigned waits; /* of the writer, each of which is in vain */

bool __wrap_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns)
{
    (void)cond;
    (void)lock;
    (void)until_ns;
    waits++;
    return false;
}

static void note_answers(void *context, struct kx_ticket *first)
{
    struct answers *answers = context;
    for (; first != NULL; first = first->next)
        answers->order[answers->count++] = first;
}

static int begin(void **state)
{
    struct answers *answers = talloc_zero(NULL, struct answers);
    waits = 0;
    *state = answers;
    return view_init(&answers->view, note_answers, answers) != KX_OK;
}

static int finish(void **state)
{
    struct answers *answers = *state;
    view_finish(&answers->view);
    return talloc_free(answers);
}

static bool enter(struct answers *answers, size_t n)
{
    return view_enter_or_park(&answers->view, &answers->tickets[n]);
}

TEST_WITH(open_view_parks_nobody, begin, finish)
{
    struct answers *answers = *state;
    assert_true(enter(answers, 0));
    view_leave(&answers->view);
    view_apply_begin(&answers->view);
    view_apply_cancel(&answers->view);
    assert_int_equal(answers->count, 0);
    assert_true(enter(answers, 0));
    view_leave(&answers->view);
}

TEST_WITH(parked_callers_are_answered_in_order, begin, finish)
{
    struct answers *answers = *state;
    view_apply_begin(&answers->view);
    for (size_t n = 0; n < 3; n++)
        assert_false(enter(answers, n));
    assert_int_equal(answers->count, 0);
    view_apply_cancel(&answers->view);
    assert_int_equal(answers->count, 3);
    for (size_t n = 0; n < 3; n++)
        assert_ptr_equal(answers->order[n], &answers->tickets[n]);
    for (size_t n = 0; n < 3; n++) {
        assert_true(enter(answers, n));
        view_parked_done(&answers->view);
        view_leave(&answers->view);
    }
}

TEST_WITH(parked_callers_are_answered_between_slices, begin, finish)
{
    struct answers *answers = *state;
    struct net_change change = {.key = kx_text("k"), .stored = kx_text("old")};
    struct kx_slice stored;
    view_apply_begin(&answers->view);
    view_set_before_image(&answers->view, &change, 1);
    assert_false(enter(answers, 0));
    view_open(&answers->view);
    assert_int_equal(answers->count, 1);
    assert_true(enter(answers, 0));
    assert_true(
        before_image_find(&answers->view.before_image, kx_text("k"), &stored));
    assert_true(kx_equal(stored, kx_text("old")));
    view_parked_done(&answers->view);
    view_leave(&answers->view);
    view_close(&answers->view);
    assert_false(enter(answers, 0));
    view_apply_cancel(&answers->view);
    assert_int_equal(answers->count, 2);
    assert_false(
        before_image_find(&answers->view.before_image, kx_text("k"), &stored));
}

TEST_WITH(writer_waits_for_the_retries_of_answered_callers, begin, finish)
{
    struct answers *answers = *state;
    view_apply_begin(&answers->view);
    assert_false(enter(answers, 0));
    assert_false(enter(answers, 1));
    view_apply_cancel(&answers->view);
    view_parked_done(&answers->view);
    assert_int_equal(waits, 0);
    view_apply_begin(&answers->view);
    assert_int_equal(waits, 1);
    view_apply_cancel(&answers->view);
    view_parked_done(
        &answers->view); /* too late: it counts for no other caller */
    view_apply_begin(&answers->view);
    assert_false(enter(answers, 0));
    view_apply_cancel(&answers->view);
    view_parked_done(&answers->view);
    view_apply_begin(&answers->view);
    assert_int_equal(waits, 1);
    view_apply_cancel(&answers->view);
}
