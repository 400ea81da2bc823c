/* Freeing the entries of dropped indexes. Writer thread only. */
#ifndef DROP_H
#define DROP_H

#include "commit/store_state.h"

/* Removes the next entries of a dropped index, and forgets it with the last. */
void drop_step(struct kx_store *store, struct index *index);

#endif
