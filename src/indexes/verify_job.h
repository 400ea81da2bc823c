/* The jobs of a verification (verify.h): comparing the next rows. Writer thread
 * only. */
#ifndef VERIFY_JOB_H
#define VERIFY_JOB_H

#include "commit/store_state.h"

/* Is the index in a state in which it can be verified? */
bool verify_possible(const struct index *index);

/* Is a verification of it under way that can go on? */
bool verify_waits(const struct index *index);

/* The index to verify next as far as the paces allow, or NULL. */
struct index *verify_next(const struct kx_store *store);

/* Compares its next rows, or the next entries with them. */
void verify_step(struct kx_store *store, struct index *index);

#endif
