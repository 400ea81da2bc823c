/* A token of access: its copy in memory and its row in the catalog. */
#ifndef TOKEN_H
#define TOKEN_H

#include "engine/engine.h"

/* A copy in separate memory, to be released by kx_token_release; NULL when
 * memory ran out. */
struct kx_token *token_copy(const struct kx_token *token);

/* Adds a reference, to be released by kx_token_release. */
void token_keep(struct kx_token *token);

/* The row that stores a token, or with ROW_DELETE removes it, in talloc context
 * mem. False when memory ran out. */
bool token_row(void *mem, const struct kx_token *token,
               enum row_write_type type, struct row_write *write_out);

/* The token of a stored row's value: KX_OK, KX_FAILED, KX_NO_MEMORY. */
enum kx_status token_read(struct kx_slice row, struct kx_token **token_out);

#endif
