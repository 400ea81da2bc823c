/* Prefixes of grants, and tokens that are kept in a store. */
#include "store.h"

#include "commit/store_state.h"
#include "store/tokens.h"

/* Ranges of keys that a prefix covers, from start to end ("": the key alone),
 * as JSON. */
static const struct {
    const char *prefix, *start, *end;
    int end_byte; /* after the end's parts, -1: none */
    bool covered;
} RANGES[] = {
    {"[]", "[\"a\"]", "", -1, true},
    {"[]", "[]", "[]", 0xff, true},
    {"[\"a\"]", "[\"a\"]", "", -1, true},
    {"[\"a\"]", "[\"a\",\"b\"]", "", -1, true},
    {"[\"a\"]", "[\"ab\"]", "", -1, false},
    {"[\"a\"]", "[\"a\\u0000\"]", "", -1, false},
    {"[\"a\"]", "[\"a\\u0000b\",\"c\"]", "", -1, false},
    {"[\"a\"]", "[]", "", -1, false},
    {"[\"a\"]", "[\"A\"]", "", -1, false},
    {"[1]", "[1,2]", "", -1, true},
    {"[1]", "[\"1\"]", "", -1, false},
    {"[1]", "[1.5]", "", -1, false},
    {"[true]", "[false]", "", -1, false},
    {"[\"a\",\"b\"]", "[\"a\"]", "", -1, false},
    {"[\"a\"]", "[\"a\"]", "[\"a\"]", 0xff, true},
    {"[\"a\"]", "[\"a\",1]", "[\"a\",2]", -1, true},
    {"[\"a\"]", "[\"a\",1]", "[\"a\\u0000\"]", -1, false},
    {"[\"a\"]", "[\"a\",1]", "[\"ab\"]", -1, false},
    {"[\"a\"]", "[\"a\",1]", "[\"b\"]", -1, false},
    {"[\"a\"]", "[\"a\",1]", "[]", 0xff, false},
    {"[\"a\"]", "[]", "[\"a\",1]", -1, false},
    {"[\"a\"]", "[\"Z\"]", "[\"a\"]", 0xff, false},
};

TEST_WITH(grant_prefix_covers_whole_parts_only, begin, finish)
{
    struct story *s = *state;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        struct kx_buffer end;
        kx_buffer_init(&end, s->mem);
        if (RANGES[i].end[0] != '\0')
            kx_add_slice(&end, test_key(s->mem, RANGES[i].end));
        if (RANGES[i].end_byte >= 0)
            kx_add_byte(&end, (uint8_t)RANGES[i].end_byte);
        bool covered = kx_prefix_covers(test_key(s->mem, RANGES[i].prefix),
                                        test_key(s->mem, RANGES[i].start),
                                        kx_buffer_slice(&end));
        if (covered != RANGES[i].covered)
            fail_msg("%s and %s to %s", RANGES[i].prefix, RANGES[i].start,
                     RANGES[i].end);
    }
}

/* A token with one grant; its id is the digit sixteen times. */
static struct kx_token token_of(const struct kx_grant *grant, char digit)
{
    struct kx_token token = {.name = kx_text("n"),
                             .created_at_ms = 5,
                             .grants = grant,
                             .grant_count = 1};
    memset(token.id, digit, KX_TOKEN_ID_SIZE);
    memset(token.digest, digit, sizeof token.digest);
    return token;
}

static const struct kx_grant ADMIN = {.scopes = KX_MAY_ALL};

static enum kx_status add(struct story *s, const struct kx_token *token)
{
    struct kx_commit commit = {
        .command.kind = KX_ADD_TOKEN, .command.token = token, .memory = s->mem};
    return test_commit(&s->test, &commit);
}

static enum kx_status take_back(struct story *s, const char *id)
{
    struct kx_commit commit = {.command.kind = KX_REVOKE_TOKEN,
                               .command.token_id = kx_text(id),
                               .memory = s->mem};
    return test_commit(&s->test, &commit);
}

TEST_WITH(last_admin_token_cannot_be_revoked, begin, finish)
{
    struct story *s = *state;
    const struct kx_grant some = {.scopes = KX_MAY_ADMIN,
                                  .prefix = test_key(s->mem, "[\"a\"]")};
    const struct kx_grant keys = {.scopes = KX_MAY_ALL & ~KX_MAY_READ};
    struct kx_token narrow = token_of(&some, 'd');
    struct kx_token blind = token_of(&keys, 'b');
    struct kx_token admin = token_of(&ADMIN, 'a');
    struct kx_token over = token_of(&ADMIN, 'e');
    over.expires_at_ms = kx_now_ms() - 1;
    assert_int_equal(add(s, &narrow), KX_NO_ADMIN);
    assert_int_equal(add(s, &over), KX_NO_ADMIN);
    assert_int_equal(add(s, &blind), KX_NO_ADMIN);
    assert_false(kx_tokens_any(s->test.store));
    assert_int_equal(add(s, &admin), KX_OK);
    assert_int_equal(add(s, &narrow), KX_OK);
    assert_int_equal(add(s, &over), KX_OK);
    assert_int_equal(take_back(s, admin.id), KX_NO_ADMIN);
    assert_int_equal(take_back(s, narrow.id), KX_OK);
    assert_int_equal(take_back(s, over.id), KX_OK);
    assert_int_equal(take_back(s, admin.id), KX_OK);
    assert_false(kx_tokens_any(s->test.store));
}

TEST_WITH(token_can_be_revoked_on_a_full_disk, begin, finish)
{
    struct story *s = *state;
    struct kx_token admin = token_of(&ADMIN, 'a');
    struct kx_token other = token_of(&ADMIN, 'c');
    add(s, &admin);
    add(s, &other);
    test_store_close(&s->test);
    s->test.options.disk_floor = UINT64_C(1) << 60;
    test_store_open(&s->test);
    assert_int_equal(test_set(&s->test, s->mem, "[1]", "1"), KX_DISK_FULL);
    assert_int_equal(take_back(s, other.id), KX_OK);
    test_store_close(&s->test);
    test_store_open(&s->test);
    assert_null(kx_token_find(s->test.store, kx_text(other.id)));
}

/* The tokens of a process that only reads the rows, in a view of the present
 * ones. */
struct followed_tokens {
    struct tokens *tokens;
    struct engine_view *view;
    struct engine_range *catalog;
};

static struct followed_tokens follow(struct story *s)
{
    struct followed_tokens following = {.tokens = tokens_create(s->mem)};
    struct kx_store *store = s->test.store;
    assert_non_null(following.tokens);
    assert_int_equal(engine_view_open(s->mem, store->engine,
                                      &store->view.before_image,
                                      &following.view),
                     KX_OK);
    assert_int_equal(engine_range_create(s->mem, following.view, TABLE_CATALOG,
                                         &following.catalog),
                     KX_OK);
    return following;
}

static enum kx_status look(struct story *s, struct followed_tokens *following,
                           const char *id, struct kx_token **token_out)
{
    struct view *view = &s->test.store->view;
    view_enter(view);
    enum kx_status status = tokens_follow(following->tokens, following->view,
                                          kx_text(id), token_out);
    view_leave(view);
    return status;
}

static bool are_any(struct story *s, struct followed_tokens *following)
{
    bool any = false;
    view_enter(&s->test.store->view);
    assert_int_equal(
        tokens_follow_any(following->tokens, following->catalog, &any), KX_OK);
    view_leave(&s->test.store->view);
    return any;
}

TEST_WITH(follower_learns_of_tokens_on_lookup, begin, finish)
{
    struct story *s = *state;
    struct kx_token admin = token_of(&ADMIN, 'a');
    struct kx_token other = token_of(&ADMIN, 'b');
    struct kx_token *first;
    struct kx_token *second;
    struct followed_tokens following = follow(s);
    assert_int_equal(look(s, &following, other.id, &first), KX_ABSENT);
    assert_null(first);
    assert_false(are_any(s, &following));
    add(s, &admin);
    add(s, &other);
    assert_true(are_any(s, &following));
    assert_int_equal(look(s, &following, other.id, &first), KX_OK);
    assert_int_equal(look(s, &following, other.id, &second), KX_OK);
    assert_ptr_equal(first, second); /* so their counters are the same */
    kx_token_release(second);
    take_back(s, other.id);
    assert_false(atomic_load(&first->revoked));
    assert_int_equal(look(s, &following, other.id, &second), KX_ABSENT);
    assert_null(second);
    assert_true(atomic_load(&first->revoked));
    other.digest[0]++; /* another secret under the same id */
    add(s, &other);
    assert_int_equal(look(s, &following, other.id, &second), KX_OK);
    assert_false(atomic_load(&second->revoked));
    kx_token_release(first);
    kx_token_release(second);
}

TEST_WITH(fixed_token_needs_no_row, begin, finish)
{
    struct story *s = *state;
    struct kx_token fixed = token_of(&ADMIN, 'f');
    struct kx_token *found;
    struct followed_tokens following = follow(s);
    assert_int_equal(tokens_fix(following.tokens, &fixed), KX_OK);
    assert_true(are_any(s, &following));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(look(s, &following, fixed.id, &found), KX_OK);
        assert_false(atomic_load(&found->revoked));
        kx_token_release(found);
    }
}
