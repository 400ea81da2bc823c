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
