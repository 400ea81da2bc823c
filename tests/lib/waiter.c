#include "waiter.h"

int finish_watches(void **state)
{
    struct story *s = *state;
    talloc_free(s->mem);
    return finish(state);
}

void open_waiter(struct story *s, struct waiter *waiter, const char *one,
                 const char *two)
{
    struct kx_slice keys[2] = {test_key(s->mem, one)};
    if (two != NULL)
        keys[1] = test_key(s->mem, two);
    *waiter = (struct waiter){.ticket.owner = &waiter->told};
    assert_int_equal(kx_watch_open(s->test.store, keys, two != NULL ? 2 : 1,
                                   s->mem, &waiter->watch),
                     KX_OK);
}

enum kx_status wait_for(struct waiter *waiter)
{
    waiter->told = false;
    return kx_watch_wait(waiter->watch, &waiter->ticket);
}

void is_told(struct story *s, struct waiter *waiter)
{
    test_wait(&s->test, &waiter->told);
}

void is_not_told(struct story *s, struct waiter *waiter)
{
    assert_true(kx_watch_cancel(s->test.store, &waiter->ticket));
    assert_false(waiter->told);
}
