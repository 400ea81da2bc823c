/* A sorted array of tokens under a lock. A revoked token is removed from the
 * array and marked: holders of a reference see the mark, and waiting requests
 * are woken to check it.
 *
 * The array changes when the batch is applied, before it is flushed. From then
 * on a revoked token is rejected. No client knows the secret of a new token
 * before its commit is answered. */
#include "store/tokens.h"

#include <talloc.h>

#include "commit/batch.h"
#include "commit/index_waiters.h"
#include "engine/engine.h"
#include "catalog/token.h"
#include "commit/watch.h"

struct tokens {
    pthread_rwlock_t lock;
    struct kx_token **list; /* sorted by id */
    size_t count;
    atomic_bool any;
    atomic_bool fixed; /* tokens_fix has added a token */
};

static int free_all(struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        kx_token_release(tokens->list[i]);
    return pthread_rwlock_destroy(&tokens->lock);
}

/* The index of the first token whose id is at least `id`. */
static size_t place_of(const struct tokens *tokens, struct kx_slice id)
{
    size_t low = 0;
    size_t high = tokens->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kx_compare(kx_text(tokens->list[middle]->id), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the token with this id, or NULL. `at` is its index, or where it would
 * be. */
static struct kx_token *look_up(const struct tokens *tokens, struct kx_slice id,
                                size_t *at)
{
    *at = place_of(tokens, id);
    return *at < tokens->count && kx_equal(kx_text(tokens->list[*at]->id), id)
               ? tokens->list[*at]
               : NULL;
}

/* Makes room for one more token. The caller holds the lock. */
static bool has_room(struct tokens *tokens)
{
    struct kx_token **list = talloc_realloc(
        tokens, tokens->list, struct kx_token *, (unsigned)tokens->count + 1);
    if (list != NULL)
        tokens->list = list;
    return list != NULL;
}

/* Takes ownership of the token, and replaces one with the same id. The caller
 * holds the lock and has made room. */
static void put(struct tokens *tokens, struct kx_token *token)
{
    size_t at;
    struct kx_token *old = look_up(tokens, kx_text(token->id), &at);
    if (old == NULL) {
        memmove(&tokens->list[at + 1], &tokens->list[at],
                (tokens->count - at) * sizeof(struct kx_token *));
        tokens->count++;
    }
    kx_token_release(old);
    tokens->list[at] = token;
    atomic_store(&tokens->any, true);
}

static void take_out(struct tokens *tokens, size_t at)
{
    struct kx_token *token = tokens->list[at];
    tokens->count--;
    memmove(&tokens->list[at], &tokens->list[at + 1],
            (tokens->count - at) * sizeof(struct kx_token *));
    atomic_store(&token->revoked, true);
    atomic_store(&tokens->any, tokens->count > 0);
    kx_token_release(token);
}

/* ---- Loading ------------------------------------------------------------ */

static enum kx_status read_row(void *arg, struct kx_slice key,
                               struct kx_slice row)
{
    struct tokens *tokens = arg;
    (void)key;
    struct kx_token *token;
    if (!has_room(tokens))
        return KX_NO_MEMORY;
    enum kx_status status = token_read(row, &token);
    if (status == KX_OK)
        put(tokens, token);
    return status;
}

/* '0' is the byte after '/'. */
static enum kx_status read_rows(struct tokens *tokens, struct engine_view *view)
{
    const struct engine_span rows = {TABLE_CATALOG, kx_text("token/"),
                                     kx_text("token0")};
    return engine_each(tokens, view, &rows, read_row, tokens);
}

struct tokens *tokens_create(void *mem)
{
    struct tokens *tokens = talloc_zero(mem, struct tokens);
    if (tokens == NULL)
        return NULL;
    pthread_rwlock_init(&tokens->lock, NULL);
    talloc_set_destructor(tokens, free_all);
    return tokens;
}

enum kx_status tokens_load(void *mem, struct engine_view *view,
                           struct tokens **tokens_out, struct kx_fault *fault)
{
    struct tokens *tokens = tokens_create(mem);
    if (tokens == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = read_rows(tokens, view);
    if (status != KX_OK)
        kx_fail(fault, status, "the access tokens cannot be read");
    *tokens_out = tokens;
    return status;
}

/* ---- Looking up --------------------------------------------------------- */

bool tokens_any(const struct tokens *tokens)
{
    return atomic_load_explicit(&tokens->any, memory_order_relaxed);
}

struct kx_token *tokens_find(struct tokens *tokens, struct kx_slice id)
{
    size_t at;
    pthread_rwlock_rdlock(&tokens->lock);
    struct kx_token *token = look_up(tokens, id, &at);
    if (token != NULL)
        kx_token_keep(token);
    pthread_rwlock_unlock(&tokens->lock);
    return token;
}

struct kx_token *tokens_after(struct tokens *tokens, struct kx_slice id)
{
    size_t at;
    struct kx_token *token = NULL;
    pthread_rwlock_rdlock(&tokens->lock);
    if (look_up(tokens, id, &at) != NULL)
        at++;
    if (at < tokens->count)
        token = tokens->list[at];
    if (token != NULL)
        kx_token_keep(token);
    pthread_rwlock_unlock(&tokens->lock);
    return token;
}

/* ---- Changing ----------------------------------------------------------- */

enum kx_status tokens_fix(struct tokens *tokens, const struct kx_token *token)
{
    struct kx_token *copy = kx_token_copy(token);
    if (copy == NULL)
        return KX_NO_MEMORY;
    copy->fixed = true;
    pthread_rwlock_wrlock(&tokens->lock);
    enum kx_status status =
        tokens->count >= KX_TOKENS_MAX ? KX_TOO_MANY_TOKENS : KX_OK;
    if (status == KX_OK && !has_room(tokens))
        status = KX_NO_MEMORY;
    if (status == KX_OK) {
        put(tokens, copy);
        atomic_store(&tokens->fixed, true);
    }
    pthread_rwlock_unlock(&tokens->lock);
    if (status != KX_OK)
        kx_token_release(copy);
    return status;
}

/* ---- Following ---------------------------------------------------------- */

static bool is_fixed(const struct kx_token *token)
{
    return token != NULL && token->fixed;
}

/* The array may contain revoked tokens that were not looked up since; the limit
 * is for tokens that exist. The caller holds the lock. */
static void forget_all(struct tokens *tokens)
{
    size_t at = 0;
    while (at < tokens->count)
        if (tokens->list[at]->fixed)
            at++;
        else
            take_out(tokens, at);
}

/* Updates a token in memory to that of its row: `fresh`, or NULL if there is no
 * row. A token never changes, so it stays the same object, with its counters,
 * as long as its secret is the same. Takes ownership of fresh. The caller holds
 * the lock. */
static enum kx_status update_token(struct tokens *tokens, struct kx_slice id,
                                   struct kx_token *fresh,
                                   struct kx_token **token_out)
{
    size_t at;
    struct kx_token *token = look_up(tokens, id, &at);
    if (token != NULL && fresh != NULL &&
        memcmp(token->digest, fresh->digest, sizeof token->digest) == 0) {
        kx_token_release(fresh);
        fresh = token;
    } else if (token != NULL && !token->fixed) {
        take_out(tokens, at);
    }
    if (fresh == NULL)
        return KX_ABSENT;
    if (fresh != token) {
        if (tokens->count >= KX_TOKENS_MAX)
            forget_all(tokens);
        if (!has_room(tokens)) {
            kx_token_release(fresh);
            return KX_NO_MEMORY;
        }
        put(tokens, fresh);
    }
    kx_token_keep(fresh);
    *token_out = fresh;
    return KX_OK;
}

/* Reads a token in the state of the view. KX_ABSENT: there is no row. */
static enum kx_status read_token(struct engine_view *view, struct kx_slice id,
                                 struct kx_token **token_out)
{
    struct kx_buffer key;
    struct kx_buffer row;
    kx_buffer_init(&key, NULL);
    kx_buffer_init(&row, NULL);
    kx_add_text(&key, "token/");
    kx_add_slice(&key, id);
    enum kx_status status =
        key.failed
            ? KX_NO_MEMORY
            : engine_get(view, TABLE_CATALOG, kx_buffer_slice(&key), &row);
    if (status == KX_OK)
        status = token_read(kx_buffer_slice(&row), token_out);
    kx_buffer_free(&key);
    kx_buffer_free(&row);
    return status;
}

enum kx_status tokens_follow(struct tokens *tokens, struct engine_view *view,
                             struct kx_slice id, struct kx_token **token_out)
{
    struct kx_token *fresh = NULL;
    *token_out = tokens_find(tokens, id);
    if (is_fixed(*token_out))
        return KX_OK;
    kx_token_release(*token_out);
    *token_out = NULL;
    enum kx_status status = read_token(view, id, &fresh);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    pthread_rwlock_wrlock(&tokens->lock);
    status = update_token(tokens, id, fresh, token_out);
    pthread_rwlock_unlock(&tokens->lock);
    return status;
}

enum kx_status tokens_follow_any(const struct tokens *tokens,
                                 struct engine_range *catalog, bool *any_out)
{
    struct kx_slice key;
    struct kx_slice row;
    enum kx_status status =
        engine_range_begin(catalog, kx_text("token/"), kx_text("token0"));
    if (status == KX_OK)
        status = engine_range_next(catalog, &key, &row);
    engine_range_end(catalog);
    *any_out = status == KX_OK || atomic_load(&tokens->fixed);
    return status == KX_END ? KX_OK : status;
}

/* ---- Changing by commits --------------------------------------------------
 */

/* A token can grant other tokens only its own rights, so one token must have
 * every right. */
static bool is_admin(const struct kx_token *token, int64_t now_ms)
{
    for (unsigned scope = 1; scope < KX_MAY_ALL; scope <<= 1)
        if (!kx_token_is_whole(token, (enum kx_scope)scope))
            return false;
    return token->expires_at_ms == 0 || token->expires_at_ms > now_ms;
}

/* Only the writer's work changes the array of an open store, so that thread may
 * read it without the lock. */
static bool has_admin(const struct tokens *tokens,
                      const struct kx_token *without)
{
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->list[i] != without && is_admin(tokens->list[i], now_ms))
            return true;
    return false;
}

static enum kx_status apply(struct writer *writer, const struct kx_token *token,
                            enum row_write_type type, uint64_t *number_out)
{
    struct row_write write;
    void *mem = talloc_new(NULL);
    enum kx_status status = KX_NO_MEMORY;
    if (mem != NULL && token_row(mem, token, type, &write)) {
        struct batch batch = {.writes = &write, .write_count = 1};
        status = batch_apply(writer, &batch, number_out);
    }
    talloc_free(mem);
    return status;
}

static enum kx_status may_add(const struct tokens *tokens,
                              const struct kx_token *token,
                              struct kx_fault *fault)
{
    if (tokens->count >= KX_TOKENS_MAX)
        return kx_fail(fault, KX_TOO_MANY_TOKENS,
                       "there are %zu tokens; the limit is %d", tokens->count,
                       KX_TOKENS_MAX);
    if (is_admin(token, kx_now_ms()) || has_admin(tokens, NULL))
        return KX_OK;
    return kx_fail(fault, KX_NO_ADMIN,
                   "the first token must have every scope for all keys, "
                   "because it creates the others");
}

/* Waiting requests may have lost their rights. */
static void wake_all(struct writer *writer)
{
    watch_note_all(writer->watches);
    index_waiters_note(writer->waiters);
}

void tokens_add(struct writer *writer, struct kx_commit *commit,
                uint64_t *number_out)
{
    struct tokens *tokens = writer->tokens;
    struct kx_token *copy = kx_token_copy(commit->command.token);
    commit->status = copy == NULL
                         ? KX_NO_MEMORY
                         : may_add(tokens, copy, &commit->refusal.fault);
    pthread_rwlock_wrlock(&tokens->lock);
    if (commit->status == KX_OK && !has_room(tokens))
        commit->status = KX_NO_MEMORY;
    pthread_rwlock_unlock(&tokens->lock);
    if (commit->status == KX_OK)
        commit->status = apply(writer, copy, ROW_PUT, number_out);
    pthread_rwlock_wrlock(&tokens->lock);
    if (commit->status == KX_OK)
        put(tokens, copy);
    else
        kx_token_release(copy);
    pthread_rwlock_unlock(&tokens->lock);
    commit->created = commit->status == KX_OK;
    if (commit->created && tokens->count == 1)
        wake_all(writer); /* requests from before a token was needed */
    commit->stamp = writer->base.catalog->stamp;
}

static enum kx_status may_revoke(const struct tokens *tokens,
                                 const struct kx_token *token,
                                 struct kx_fault *fault)
{
    if (token == NULL)
        return kx_fail(fault, KX_TOKEN_ABSENT, "there is no such token");
    if (token->fixed)
        return kx_fail(fault, KX_TOKEN_FIXED,
                       "the token %s was given when the store was opened",
                       token->id);
    if (tokens->count == 1 || has_admin(tokens, token))
        return KX_OK;
    return kx_fail(fault, KX_NO_ADMIN,
                   "the token %s is the last one with every scope for all "
                   "keys, and other tokens are left",
                   token->id);
}

void tokens_revoke(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out)
{
    struct tokens *tokens = writer->tokens;
    size_t at;
    struct kx_token *token = look_up(tokens, commit->command.token_id, &at);
    commit->status = may_revoke(tokens, token, &commit->refusal.fault);
    if (commit->status == KX_OK)
        commit->status = apply(writer, token, ROW_DELETE, number_out);
    commit->stamp = writer->base.catalog->stamp;
    if (commit->status != KX_OK)
        return;
    pthread_rwlock_wrlock(&tokens->lock);
    take_out(tokens, at);
    pthread_rwlock_unlock(&tokens->lock);
    wake_all(writer);
}
