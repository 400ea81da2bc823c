/* Public functions that concern one module of an open store; each calls that
 * module. */
#include "commit/store_state.h"
#include "commit/watch.h"
#include "store/tokens.h"
#include "engine/engine.h"
#include "postgres/pg_engine.h"

const char *kx_store_id(const struct kx_store *store)
{
    return store->catalog->id;
}

void kx_close_begin(struct kx_store *store)
{
    atomic_store(&store->closing, true);
}

bool kx_store_failed(const struct kx_store *store)
{
    return engine_failed(store->engine);
}

bool kx_store_replaced(const struct kx_store *store)
{
    return atomic_load(&store->stats.fenced);
}

bool kx_store_holds(const struct kx_store *store)
{
    return engine_holds(store->engine);
}

struct kx_position kx_store_position(const struct kx_store *store)
{
    return engine_position(store->engine);
}

bool kx_cluster_known(struct kx_store *store, struct kx_cluster *cluster_out)
{
    return store->options.engine != NULL &&
           pg_engine_cluster(store->engine, cluster_out);
}

bool kx_commits_wait(const struct kx_store *store)
{
    return store->options.engine != NULL &&
           pg_engine_commits_wait(store->engine);
}

void kx_step_down(struct kx_store *store)
{
    if (store->options.engine != NULL)
        pg_engine_step_down(store->engine);
}

/* ---- Commits ------------------------------------------------------------ */

enum kx_status kx_submit(struct kx_store *store, struct kx_commit *commit)
{
    return commit_queue_submit(&store->queue, commit);
}

void kx_commits_expected(struct kx_store *store)
{
    commit_queue_expect(&store->queue);
}

void kx_commits_done(struct kx_store *store)
{
    commit_queue_expect_end(&store->queue);
}

/* ---- Waiting ------------------------------------------------------------ */

enum kx_status kx_wait(struct kx_store *store, uint64_t number,
                       struct kx_ticket *ticket)
{
    return flush_wait(&store->flush, number, ticket);
}

uint64_t kx_index_change_count(struct kx_store *store)
{
    return index_waiters_count(&store->waiters);
}

enum kx_status kx_index_change_wait(struct kx_store *store, uint64_t seen,
                                    struct kx_ticket *ticket)
{
    return index_waiters_add(&store->waiters, seen, ticket);
}

bool kx_index_change_cancel(struct kx_store *store, struct kx_ticket *ticket)
{
    return index_waiters_remove(&store->waiters, ticket);
}

enum kx_status kx_watch_open(struct kx_store *store,
                             const struct kx_slice *keys, size_t count,
                             const void *memory, struct kx_watch **watch_out)
{
    return watch_open(store->watches, keys, count, memory, watch_out);
}

enum kx_status kx_watch_open_prefix(struct kx_store *store,
                                    struct kx_slice prefix, enum kx_watch_of of,
                                    const void *memory,
                                    struct kx_watch **watch_out)
{
    return watch_open_prefix(store->watches, prefix, of, memory, watch_out);
}

bool kx_watch_cancel(struct kx_store *store, struct kx_ticket *ticket)
{
    return watch_cancel(store->watches, ticket);
}

/* ---- Tokens ------------------------------------------------------------- */

bool kx_tokens_any(const struct kx_store *store)
{
    return tokens_any(store->tokens);
}

struct kx_token *kx_token_find(struct kx_store *store, struct kx_slice id)
{
    return tokens_find(store->tokens, id);
}

struct kx_token *kx_token_after(struct kx_store *store, struct kx_slice id)
{
    return tokens_after(store->tokens, id);
}

enum kx_status kx_token_fix(struct kx_store *store,
                            const struct kx_token *token)
{
    enum kx_status status = KX_OK;
    if (store->tokens != NULL)
        status = tokens_fix(store->tokens, token);
    if (status == KX_OK && store->followed != NULL)
        status = tokens_fix(store->followed, token);
    return status;
}
