/* The tokens of an open store: rows of the catalog, and all of them in memory,
 * where any thread looks them up. A commit in the writer changes them. */
#ifndef TOKENS_H
#define TOKENS_H

#include "commit/writer_state.h"
#include "kindex/token.h"

struct tokens;

/* Loads the stored tokens, in talloc context mem. KX_OK, KX_NO_MEMORY,
 * KX_FAILED, KX_UNREACHABLE; the fault says why. */
enum kx_status tokens_load(void *mem, struct engine_view *view,
                           struct tokens **tokens_out, struct kx_fault *fault);

/* Creates an empty set of tokens, in talloc context mem, for a process that
 * does not change tokens but uses tokens_follow and tokens_follow_any. NULL: no
 * memory. */
struct tokens *tokens_create(void *mem);

/* Looks a token up in the state that a view of a database shows, and returns it
 * as tokens_find does. A token without a row is marked as revoked; a fixed one
 * needs no row. KX_OK; KX_ABSENT; KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE. Any
 * thread, with its own view. */
enum kx_status tokens_follow(struct tokens *tokens, struct engine_view *view,
                             struct kx_slice id, struct kx_token **token_out);

/* Sets *any_out to whether there are any tokens, stored or fixed. catalog: a
 * range of TABLE_CATALOG. KX_OK, KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE. */
enum kx_status tokens_follow_any(const struct tokens *tokens,
                                 struct engine_range *catalog, bool *any_out);

/* Implement kx_tokens_any, kx_token_find, kx_token_after and kx_token_fix,
 * whose contracts are in kindex/token.h. Any thread. */
bool tokens_any(const struct tokens *tokens);
struct kx_token *tokens_find(struct tokens *tokens, struct kx_slice id);
struct kx_token *tokens_after(struct tokens *tokens, struct kx_slice id);
enum kx_status tokens_fix(struct tokens *tokens, const struct kx_token *token);

/* Carry out a KX_ADD_TOKEN or KX_REVOKE_TOKEN commit and set its result.
 * *number_out is the batch to flush, unchanged if nothing was applied. As long
 * as there are tokens, one has every scope for all keys and has not expired.
 * Statuses of the commit: KX_OK, KX_TOO_MANY_TOKENS, KX_TOKEN_ABSENT,
 * KX_TOKEN_FIXED, KX_NO_ADMIN, or one of engine_apply. Writer thread only. */
void tokens_add(struct writer *writer, struct kx_commit *commit,
                uint64_t *number_out);
void tokens_revoke(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out);

#endif
