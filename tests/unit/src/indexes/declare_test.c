/* How much is read when an index is declared: everybody waits meanwhile. */
#include "together.h"

#include <stdatomic.h>

#include "indexes/declare.h"
#include "bdb/range.h"

/* The Makefile puts __wrap_X where the core calls X. */
void __real_declare_index(struct kx_store *store, struct kx_commit *commit,
                          uint64_t *number_out);
void __wrap_declare_index(struct kx_store *store, struct kx_commit *commit,
                          uint64_t *number_out);
enum kx_status __real_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);

static atomic_int rows_read;
static atomic_int declaring; /* rows read by the last declaration */

void __wrap_declare_index(struct kx_store *store, struct kx_commit *commit,
                          uint64_t *number_out)
{
    int before = atomic_load(&rows_read);
    __real_declare_index(store, commit, number_out);
    atomic_store(&declaring, atomic_load(&rows_read) - before);
}

enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out)
{
    atomic_fetch_add(&rows_read, 1);
    return __real_range_next(range, key_out, value_out);
}

enum { ENTRIES = 1000 };

static const char *numbers(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d}", n);
}

static void until_ready(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_READY);
}

#define BIG(name, prefix)                                                      \
    "{\"name\":\"" name "\",\"prefix\":[" prefix "],\"fields\":[\"/n\"]}"

static void build_big(struct story *s)
{
    test_fill(&s->test, "u", 0, ENTRIES, numbers);
    assert_int_equal(test_declare(&s->test, s->mem, BIG("big", "\"u\"")),
                     KX_OK);
    until_ready(s, "big");
}

static struct kx_commit drop_of(struct story *s, const char *name)
{
    return (struct kx_commit){.command.kind = KX_DROP_INDEX,
                              .command.index_name = kx_text(name),
                              .memory = s->mem};
}

static struct kx_commit declaration_of(struct story *s, const char *text)
{
    return (struct kx_commit){.command.kind = KX_DECLARE_INDEX,
                              .command.declaration = kx_text(text),
                              .memory = s->mem};
}

/* No row is freed between the drop and the declaration, and the declaration
 * reads only a few of its rows. */
TEST_WITH(dropped_name_can_be_declared_at_once, begin, finish)
{
    struct story *s = *state;
    build_big(s);
    struct kx_commit commits[] = {drop_of(s, "big"),
                                  declaration_of(s, BIG("big", "\"v\""))};
    test_commit_together(&s->test, s->mem, commits, 2);
    assert_int_equal(commits[0].status, KX_OK);
    assert_int_equal(commits[1].status, KX_OK);
    assert_in_range(commits[1].stamp, commits[0].stamp + 1, UINT64_MAX);
    assert_in_range(atomic_load(&declaring), 1, 10);
}

/* A client has written an entry under the name in between. */
TEST_WITH(declaration_fails_if_a_client_took_the_dropped_name, begin, finish)
{
    struct story *s = *state;
    build_big(s);
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"big\",2000]"),
                                   .value = test_json("1")};
    struct kx_commit commits[] = {
        drop_of(s, "big"),
        {.mutations = &mutation, .mutation_count = 1, .memory = s->mem},
        declaration_of(s, BIG("big", "\"v\""))};
    test_commit_together(&s->test, s->mem, commits, 3);
    assert_int_equal(commits[1].status, KX_OK);
    assert_int_equal(commits[2].status, KX_INDEX_NAME_USED);
    assert_string_equal(test_list(&s->test, s->mem, "[\"big\"]"),
                        "[\"big\",2000] 1|");
}

/* The rows of the one come before the entries of the other. */
TEST_WITH(declaration_passes_over_entries_of_an_index, begin, finish)
{
    struct story *s = *state;
    build_big(s);
    struct kx_commit commit = declaration_of(s, BIG("all", ""));
    test_commit_together(&s->test, s->mem, &commit, 1);
    assert_int_equal(commit.status, KX_OK);
    assert_in_range(atomic_load(&declaring), 1, 10);
    until_ready(s, "all");
}
