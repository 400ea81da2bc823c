/* An access token: its copy in memory and its row in the catalog. */
#ifndef TOKEN_H
#define TOKEN_H

#include "engine/engine.h"

/* Fills in the write that stores a token, or with ROW_DELETE removes it, in
 * talloc context mem. False if memory ran out. */
bool token_row(void *mem, const struct kx_token *token,
               enum row_write_type type, struct row_write *write_out);

/* Reads the token in a stored row's value. The caller releases it with
 * kx_token_release. KX_OK, KX_FAILED: the row is damaged, KX_NO_MEMORY. */
enum kx_status token_read(struct kx_slice row, struct kx_token **token_out);

#endif
