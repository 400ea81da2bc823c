/* Tokens whose allocations fail. */
#include "alloc_world.h"

static const char ADMIN[] = "aaaaaaaaaaaaaaaa";
static const char READER[] = "bbbbbbbbbbbbbbbb";

static struct kx_token token_of(const char *id, const struct kx_grant *grants,
                                size_t count)
{
    struct kx_token token = {.name = kx_text("a name"),
                             .created_at_ms = 5,
                             .grants = grants,
                             .grant_count = count};
    memcpy(token.id, id, sizeof token.id);
    return token;
}

static enum kx_status take_back(struct world *world, const char *id)
{
    struct kx_commit commit = {.command.kind = KX_REVOKE_TOKEN,
                               .command.token_id = kx_text(id),
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static enum kx_status add(struct world *world, const struct kx_token *token)
{
    struct kx_commit commit = {.command.kind = KX_ADD_TOKEN,
                               .command.token = token,
                               .memory = world->mem};
    return test_commit(&world->test, &commit);
}

static enum kx_status add_reader(struct world *world)
{
    struct kx_grant grants[] = {
        {.scopes = KX_MAY_READ | KX_MAY_LIST,
         .prefix = key_of(world, "[\"u\"]")},
        {.scopes = KX_MAY_WATCH, .prefix = key_of(world, "[\"n\",1]")}};
    struct kx_token token = token_of(READER, grants, 2);
    token.expires_at_ms = kx_now_ms() + 3600000;
    return add(world, &token);
}

static void furnish_admin(struct world *world)
{
    static const struct kx_grant all = {.scopes = KX_MAY_ALL};
    struct kx_token token = token_of(ADMIN, &all, 1);
    furnish(world);
    done(add(world, &token), "adding a token");
}

static void furnish_tokens(struct world *world)
{
    furnish_admin(world);
    done(add_reader(world), "adding a token");
}

/* A token that was given out can be found, else not. */
static enum kx_status run_add(struct world *world)
{
    enum kx_status status = add_reader(world);
    struct kx_token *token = kx_token_find(world->test.store, kx_text(READER));
    if ((token != NULL) != (status == KX_OK))
        wrong("a token is %s", token == NULL ? "absent" : "there");
    if (token != NULL && token->grant_count != 2)
        wrong("it has %zu grants", token->grant_count);
    kx_token_release(token);
    return status;
}

static void undo_add(struct world *world)
{
    enum kx_status status = take_back(world, READER);
    if (status != KX_TOKEN_ABSENT)
        done(status, "revoking");
}

/* A holder sees that it is revoked, and only then. */
static enum kx_status run_revoke(struct world *world)
{
    struct kx_token *held = kx_token_find(world->test.store, kx_text(READER));
    enum kx_status status = take_back(world, READER);
    if (held == NULL || held->revoked != (status == KX_OK))
        wrong("revoked or not");
    kx_token_release(held);
    return status;
}

static void undo_revoke(struct world *world)
{
    done(add_reader(world), "adding it again");
}

/* The last administrator stays. */
static enum kx_status run_revoke_admin(struct world *world)
{
    return take_back(world, ADMIN);
}

static enum kx_status run_fix(struct world *world)
{
    struct kx_grant grant = {.scopes = KX_MAY_READ,
                             .prefix = key_of(world, "[\"u\"]")};
    struct kx_token token = token_of("cccccccccccccccc", &grant, 1);
    return kx_token_fix(world->test.store, &token);
}

/* Tokens are read when a store is opened. */
static enum kx_status run_load(struct world *world)
{
    struct kx_fault fault;
    test_store_close(&world->test);
    enum kx_status status =
        kx_open(&world->test.options, &world->test.store, &fault);
    if (status == KX_OK)
        kx_close(world->test.store);
    alloc_disarm();
    test_store_open(&world->test);
    return status;
}

static const struct operation OPERATIONS[] = {
    {"add a token", furnish_admin, run_add, undo_add},
    {"revoke a token", furnish_tokens, run_revoke, undo_revoke},
    {"revoke the last administrator", furnish_tokens, run_revoke_admin, NULL},
    {"fix a token", furnish_admin, run_fix, NULL},
    {"load tokens", furnish_tokens, run_load, NULL},
};

const struct operations ALLOC_TOKENS = {
    OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS, 8};
