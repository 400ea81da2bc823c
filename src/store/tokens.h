/* The tokens of an open store: rows of the catalog table, and all of them in
 * memory, where any thread looks them up. They are changed by a commit in the
 * writer. */
#ifndef TOKENS_H
#define TOKENS_H

#include "commit/store_state.h"

/* Makes store->tokens, which belongs to the store, from the stored rows. KX_OK,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status tokens_load(struct kx_store *store, struct kx_fault *fault);

/* Carry out a KX_ADD_TOKEN or KX_REVOKE_TOKEN commit and set its result;
 * *number_out is the batch to flush, unchanged when nothing was applied. As
 * long as there are tokens, one has every scope for all keys and has not
 * expired. KX_TOO_MANY_TOKENS, KX_TOKEN_ABSENT, KX_TOKEN_FIXED, KX_NO_ADMIN,
 * errors of the storage. Writer thread only. */
void tokens_add(struct kx_store *store, struct kx_commit *commit,
                uint64_t *number_out);
void tokens_revoke(struct kx_store *store, struct kx_commit *commit,
                   uint64_t *number_out);

#endif
