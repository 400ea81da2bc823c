#include "together.h"

#include "commit/store_state.h"

/* Until the writer has taken what was submitted. The figures would need another
 * view. */
static void test_until_taken(struct kx_store *store)
{
    for (bool queued = true; queued; usleep(100)) {
        queued = commit_queue_count(&store->queue) > 0;
    }
}

void test_commit_together(struct test_store *test, void *mem,
                          struct kx_commit *commits, size_t count)
{
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(mem, "[\"other\"]"),
                                   .value = test_json("1")};
    struct kx_commit first = {
        .mutations = &mutation, .mutation_count = 1, .memory = mem};
    bool done[8] = {false};
    bool first_done = false;
    first.ticket.owner = &first_done;
    kx_read_begin(test->reader);
    assert_int_equal(kx_submit(test->store, &first), KX_OK);
    test_until_taken(test->store);
    for (size_t i = 0; i < count; i++) {
        commits[i].ticket.owner = &done[i];
        assert_int_equal(kx_submit(test->store, &commits[i]), KX_OK);
    }
    kx_read_end(test->reader);
    test_wait(test, &first_done);
    for (size_t i = 0; i < count; i++)
        test_wait(test, &done[i]);
}
