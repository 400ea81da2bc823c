/* The tokens of an open store: rows of the catalog table, and all of them in
 * memory, where any thread looks them up. They are changed by a commit in the
 * writer. */
#ifndef TOKENS_H
#define TOKENS_H

#include "commit/writer_state.h"
#include "kindex/token.h"

struct tokens;

/* The stored tokens, in talloc context mem. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status tokens_load(void *mem, struct engine_view *view,
                           struct tokens **tokens_out, struct kx_fault *fault);

/* No tokens, in talloc context mem, for a process that does not change them:
 * tokens_follow and tokens_follow_any. NULL when memory ran out. */
struct tokens *tokens_create(void *mem);

/* Looks the token up in the state that a view of a database shows, and gives it
 * as tokens_find does. One that is not there is marked as revoked; a fixed one
 * needs no row. KX_OK; KX_ABSENT; other errors of the read. Any thread, with
 * its own view. */
enum kx_status tokens_follow(struct tokens *tokens, struct engine_view *view,
                             struct kx_slice id, struct kx_token **token_out);

/* The same for tokens_any; catalog: a range of TABLE_CATALOG. */
enum kx_status tokens_follow_any(const struct tokens *tokens,
                                 struct engine_range *catalog, bool *any_out);

/* kx_tokens_any, kx_token_find, kx_token_after and kx_token_fix
 * (kindex/token.h). Any thread. */
bool tokens_any(const struct tokens *tokens);
struct kx_token *tokens_find(struct tokens *tokens, struct kx_slice id);
struct kx_token *tokens_after(struct tokens *tokens, struct kx_slice id);
enum kx_status tokens_fix(struct tokens *tokens, const struct kx_token *token);

/* Carry out a KX_ADD_TOKEN or KX_REVOKE_TOKEN commit and set its result;
 * *number_out is the batch to flush, unchanged when nothing was applied. As
 * long as there are tokens, one has every scope for all keys and has not
 * expired. KX_TOO_MANY_TOKENS, KX_TOKEN_ABSENT, KX_TOKEN_FIXED, KX_NO_ADMIN,
 * errors of the storage. Writer thread only. */
void tokens_add(struct writer *writer, struct kx_commit *commit,
                uint64_t *number_out);
void tokens_revoke(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out);

#endif
