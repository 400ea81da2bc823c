/* Whose commit is next. The writer is kept in its first batch by an open view,
 * while all other commits are submitted; their versionstamps then tell the
 * order, and commits of one batch have the same times. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "commit/store_state.h"

enum {
    LONG_SETS = 4, /* of a long commit, of values as large as permitted:
                    * 25 million units */
    LONG_COMMITS = 15,
    PUTS = 500 /* some 65 of them make a turn */
};

struct sent {
    struct kx_mutation mutations[LONG_SETS];
    struct kx_commit commit;
    bool told;
};

struct clients {
    struct story *s;
    char *large; /* the JSON text of the largest value */
    struct kx_client a;
    struct kx_client b;
    struct sent first;
};

static void submit(struct clients *c, struct sent *sent, size_t sets,
                   const char *value, struct kx_client *client)
{
    memset(sent, 0, sizeof *sent);
    for (size_t i = 0; i < sets; i++)
        sent->mutations[i] =
            (struct kx_mutation){.type = KX_SET,
                                 .key = test_key(c->s->mem, "[\"a\"]"),
                                 .value = test_json(value)};
    sent->commit = (struct kx_commit){.mutations = sent->mutations,
                                      .mutation_count = sets,
                                      .client = client,
                                      .memory = c->s->mem,
                                      .ticket.owner = &sent->told};
    assert_int_equal(kx_submit(c->s->test.store, &sent->commit), KX_OK);
}

static void put(struct clients *c, struct sent *sent, struct kx_client *client)
{
    submit(c, sent, 1, "1", client);
}

static void change_much(struct clients *c, struct sent *sent,
                        struct kx_client *client)
{
    submit(c, sent, LONG_SETS, c->large, client);
}

static void wait_all(struct clients *c, struct sent *sent, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        test_wait(&c->s->test, &sent[i].told);
        assert_int_equal(sent[i].commit.status, KX_OK);
    }
}

/* After this the writer has begun c->first, and ends it after release(). */
static void hold(struct clients *c)
{
    kx_read_begin(c->s->test.reader);
    while (commit_queue_count(&c->s->test.store->queue) > 0)
        usleep(100);
}

static void release(struct clients *c)
{
    kx_read_end(c->s->test.reader);
    wait_all(c, &c->first, 1);
}

/* How many of the commits the other one waited for: those before it, and those
 * of its batch. */
static size_t waited_for(const struct sent *other, const struct sent *list,
                         size_t count)
{
    size_t waited = 0;
    for (size_t i = 0; i < count; i++)
        waited += list[i].commit.stamp < other->commit.stamp ||
                  list[i].commit.times.begun_ns == other->commit.times.begun_ns;
    return waited;
}

static void assert_in_order(const struct sent *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        assert_true(list[i - 1].commit.stamp < list[i].commit.stamp);
}

static int set_up(void **state)
{
    int failed = begin(state);
    struct story *s = *state;
    struct clients *c = talloc_zero(s->mem, struct clients);
    c->s = s;
    c->large = talloc_size(c, KX_VALUE_MAX_DEFAULT + 1);
    memset(c->large, '1', KX_VALUE_MAX_DEFAULT);
    c->large[0] = c->large[KX_VALUE_MAX_DEFAULT - 1] = '"';
    c->large[KX_VALUE_MAX_DEFAULT] = 0;
    *state = c;
    return failed;
}

static int tear_down(void **state)
{
    struct clients *c = *state;
    *state = c->s;
    return finish(state);
}

TEST_WITH(put_waits_only_for_the_long_commit_that_has_begun, set_up, tear_down)
{
    struct clients *c = *state;
    struct sent long_ones[LONG_COMMITS];
    struct sent other;
    change_much(c, &c->first, &c->a);
    hold(c);
    for (size_t i = 0; i < LONG_COMMITS; i++)
        change_much(c, &long_ones[i], &c->a);
    put(c, &other, &c->b);
    release(c);
    wait_all(c, &other, 1);
    wait_all(c, long_ones, LONG_COMMITS);
    assert_int_equal(waited_for(&other, long_ones, LONG_COMMITS), 0);
    assert_in_order(long_ones, LONG_COMMITS);
}

TEST_WITH(put_waits_for_one_long_commit_whose_cost_is_unknown, set_up,
          tear_down)
{
    struct clients *c = *state;
    struct sent long_ones[LONG_COMMITS];
    struct sent other;
    put(c, &c->first, NULL);
    hold(c);
    for (size_t i = 0; i < LONG_COMMITS; i++)
        change_much(c, &long_ones[i], &c->a);
    put(c, &other, &c->b);
    release(c);
    wait_all(c, &other, 1);
    wait_all(c, long_ones, LONG_COMMITS);
    assert_true(waited_for(&other, long_ones, LONG_COMMITS) <= 1);
}

TEST_WITH(each_of_many_clients_waits_for_one_long_commit, set_up, tear_down)
{
    enum { CLIENTS = 200 };
    struct clients *c = *state;
    struct sent long_ones[LONG_COMMITS];
    struct sent *others = talloc_array(c, struct sent, CLIENTS);
    struct kx_client *clients = talloc_zero_array(c, struct kx_client, CLIENTS);
    put(c, &c->first, NULL);
    hold(c);
    for (size_t i = 0; i < LONG_COMMITS; i++)
        change_much(c, &long_ones[i], &c->a);
    for (size_t i = 0; i < CLIENTS; i++)
        put(c, &others[i], &clients[i]);
    release(c);
    wait_all(c, others, CLIENTS);
    wait_all(c, long_ones, LONG_COMMITS);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_true(waited_for(&others[i], long_ones, LONG_COMMITS) <= 1);
}

/* A queue without a writer. After a commit of 25 turns, 32 commits of clients
 * that the queue has never seen wait at any time. */
TEST_WITH(endless_new_clients_keep_nobody_waiting, set_up, tear_down)
{
    enum { TURNS = 25, WAITING = 32, MOST = (TURNS + 2) * (WAITING + 1) };
    struct clients *c = *state;
    struct commit_queue queue = {.engine = c->s->test.store->engine,
                                 .max = 1000};
    struct kx_commit mine[2] = {{.client = &c->a}, {.client = &c->a}};
    struct kx_commit commits[WAITING + MOST] = {{.client = NULL}};
    struct kx_client clients[WAITING + MOST] = {{.first = NULL}};
    size_t count = 0;
    size_t served = 0;
    commit_queue_init(&queue);
    assert_int_equal(commit_queue_submit(&queue, &mine[0]), KX_OK);
    assert_true(commit_queue_take(&queue, 0));
    assert_ptr_equal(commit_queue_pop(&queue), &mine[0]);
    commit_queue_charge(&queue, &mine[0], TURNS * COMMIT_TURN_UNITS);
    assert_int_equal(commit_queue_submit(&queue, &mine[1]), KX_OK);
    for (bool found = false; !found; served++) {
        assert_true(served < MOST);
        for (; count < served + WAITING; count++) {
            commits[count].client = &clients[count];
            assert_int_equal(commit_queue_submit(&queue, &commits[count]),
                             KX_OK);
        }
        assert_true(commit_queue_take(&queue, 0));
        const struct kx_commit *commit = commit_queue_pop(&queue);
        commit_queue_charge(&queue, commit, 10000);
        found = commit == &mine[1];
    }
    assert_true(served > TURNS);
    commit_queue_finish(&queue);
}

TEST_WITH(client_that_was_idle_shares_with_one_that_was_not, set_up, tear_down)
{
    struct clients *c = *state;
    struct sent *before = talloc_array(c, struct sent, PUTS);
    struct sent *busy = talloc_array(c, struct sent, PUTS);
    struct sent *idle = talloc_array(c, struct sent, PUTS);
    for (size_t i = 0; i < PUTS; i++)
        put(c, &before[i], &c->a);
    wait_all(c, before, PUTS);
    put(c, &c->first, NULL);
    hold(c);
    for (size_t i = 0; i < PUTS; i++) {
        put(c, &idle[i], &c->b);
        put(c, &busy[i], &c->a);
    }
    release(c);
    wait_all(c, idle, PUTS);
    wait_all(c, busy, PUTS);
    size_t ahead = 0;
    for (size_t i = 0; i < PUTS; i++)
        ahead += busy[i].commit.stamp < idle[PUTS - 1].commit.stamp;
    assert_in_range(ahead, PUTS / 2, PUTS);
    assert_in_order(idle, PUTS);
    assert_in_order(busy, PUTS);
}

TEST_WITH(client_that_owes_turns_is_served_when_it_is_alone, set_up, tear_down)
{
    struct clients *c = *state;
    struct sent sent[3];
    for (size_t i = 0; i < 3; i++) {
        change_much(c, &sent[i], &c->a);
        wait_all(c, &sent[i], 1);
    }
    assert_in_order(sent, 3);
}

TEST_WITH(client_can_fill_half_of_the_queue, set_up, tear_down)
{
    struct clients *c = *state;
    struct sent sent[4];
    struct sent other;
    struct sent refused = {.commit = {.client = &c->a}};
    test_store_close(&c->s->test);
    c->s->test.options.queue_max = 7;
    test_store_open(&c->s->test);
    put(c, &c->first, NULL);
    hold(c);
    for (size_t i = 0; i < 4; i++)
        put(c, &sent[i], &c->a);
    assert_int_equal(kx_submit(c->s->test.store, &refused.commit), KX_BUSY);
    put(c, &other, &c->b);
    release(c);
    wait_all(c, sent, 4);
    wait_all(c, &other, 1);
    put(c, &sent[0], &c->a);
    wait_all(c, sent, 1);
}
