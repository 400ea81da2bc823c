/* A reader of rows that another process changes. It has a separate store
 * without a writer: the catalog of its view, and a cache that keeps nothing.
 * All followers share the engine's address of the database, and the tokens, so
 * that each use of a token is counted once. */
#include <talloc.h>

#include "read/reader_state.h"
#include "store/tokens.h"

struct follower_store {
    struct kx_store store;       /* first, so that one pointer is both */
    struct kx_position position; /* of the view and of the catalog */
    struct catalog_mark mark;
    struct engine_range *facts; /* of TABLE_CATALOG */
    bool tokens;                /* the view has tokens */
    bool failed;                /* a read of a token has failed */
};

static struct follower_store *follower_of(const struct kx_reader *reader)
{
    return (struct follower_store *)reader->store;
}

static int finish(struct follower_store *follower)
{
    view_finish(&follower->store.view);
    return 0;
}

static enum kx_status fill(struct follower_store *follower,
                           const struct kx_store *joined)
{
    struct kx_store *store = &follower->store;
    store->options = joined->options;
    store->engine = joined->engine;
    store->followed = joined->followed;
    store->cache = record_cache_create(follower, 0);
    if (store->cache == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = view_init(&store->view, NULL, NULL);
    if (status == KX_OK)
        talloc_set_destructor(follower, finish);
    return status;
}

enum kx_status kx_follower_open(struct kx_store *joined,
                                struct kx_reader **reader_out)
{
    struct kx_reader *reader;
    struct follower_store *follower = talloc_zero(NULL, struct follower_store);
    if (follower == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = fill(follower, joined);
    if (status == KX_OK)
        status = kx_reader_open(&follower->store, &reader);
    if (status != KX_OK) {
        talloc_free(follower);
        return status;
    }
    talloc_steal(reader, follower);
    status = engine_range_create(reader, reader->view, TABLE_CATALOG,
                                 &follower->facts);
    if (status == KX_OK)
        *reader_out = reader;
    else
        kx_reader_close(reader);
    return status;
}

static bool is_below(const struct kx_position *position,
                     const struct kx_position *least)
{
    return position->epoch < least->epoch || position->batch < least->batch;
}

/* A position identifies one state: nothing else has to be read if the position
 * is the same as in the previous view. */
static enum kx_status bring(struct kx_reader *reader,
                            const struct kx_position *least,
                            struct kx_fault *fault)
{
    struct follower_store *follower = follower_of(reader);
    struct kx_position now;
    enum kx_status status = engine_view_position(reader->view, &now);
    if (status != KX_OK)
        return status;
    if (is_below(&now, least))
        return KX_AGAIN;
    if (follower->store.catalog != NULL &&
        now.epoch == follower->position.epoch &&
        now.batch == follower->position.batch)
        return KX_OK;
    follower->position = (struct kx_position){0};
    status = catalog_follow(follower, reader->view, &follower->store.catalog,
                            &follower->mark, fault);
    if (status == KX_OK)
        status = tokens_follow_any(follower->store.followed, follower->facts,
                                   &follower->tokens);
    if (status == KX_OK)
        follower->position = now;
    return status;
}

enum kx_status kx_follow(struct kx_reader *reader,
                         const struct kx_position *least, uint64_t until_ns,
                         struct kx_fault *fault)
{
    follower_of(reader)->failed = false;
    if (!kx_read_hold_until(reader, until_ns))
        return KX_UNREACHABLE;
    enum kx_status status = bring(reader, least, fault);
    if (status != KX_OK)
        kx_read_release(reader);
    return status;
}

struct kx_position kx_follower_position(const struct kx_reader *reader)
{
    return follower_of(reader)->position;
}

bool kx_follower_tokens_any(const struct kx_reader *reader)
{
    return follower_of(reader)->tokens;
}

struct kx_token *kx_follower_token(struct kx_reader *reader, struct kx_slice id)
{
    struct follower_store *follower = follower_of(reader);
    struct kx_token *token = NULL;
    enum kx_status status =
        tokens_follow(follower->store.followed, reader->view, id, &token);
    if (status != KX_OK && status != KX_ABSENT)
        follower->failed = true;
    return token;
}

bool kx_follower_failed(const struct kx_reader *reader)
{
    return follower_of(reader)->failed;
}
