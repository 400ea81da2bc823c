/* Freeing the entries whose time is over. Writer thread only. */
#ifndef EXPIRE_H
#define EXPIRE_H

#include "commit/store_state.h"

/* Removes the next ones and sets store->next_expiry_ms. */
void expire_step(struct kx_store *store);

#endif
