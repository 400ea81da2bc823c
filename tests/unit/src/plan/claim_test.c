/* A request is let in for what its key is at that time, the entry of an index
 * or of a client; its commit fails if the key has become the other one
 * meanwhile. */
#include "store.h"

#define BY_EMAIL                                                               \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"     \
    "\"/email\",\"fold\":\"lower\"}],\"unique\":true}"

static const char *list(struct story *s, const char *prefix)
{
    return test_list(&s->test, s->mem, prefix);
}

static void declare(struct story *s, const char *declaration)
{
    assert_int_equal(test_declare(&s->test, s->mem, declaration), KX_OK);
}

/* A set of by_email/x, which was let in with this claim. */
static enum kx_status set_claiming(struct story *s, bool of_index)
{
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key =
                                       test_key(s->mem, "[\"by_email\",\"x\"]"),
                                   .value = test_json("1")};
    struct kx_claim claim = {mutation.key, of_index};
    struct kx_commit commit = {.mutations = &mutation,
                               .mutation_count = 1,
                               .claims = &claim,
                               .claim_count = 1,
                               .memory = s->mem};
    return test_commit(&s->test, &commit);
}

TEST_WITH(commit_fails_if_its_key_has_become_one_of_an_index, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(set_claiming(s, true), KX_BUSY);
    assert_string_equal(list(s, "[\"by_email\"]"), "");
    declare(s, BY_EMAIL);
    assert_int_equal(set_claiming(s, false), KX_BUSY);
    assert_int_equal(set_claiming(s, true), KX_INDEX_OWNED_KEY);
    assert_int_equal(test_drop(&s->test, s->mem, "by_email"), KX_OK);
    assert_int_equal(set_claiming(s, true), KX_BUSY);
    assert_int_equal(set_claiming(s, false), KX_OK);
}
