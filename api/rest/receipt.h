/* Receipts of claimed jobs. A receipt is the base64url of the claim's
 * versionstamp (8 bytes, big endian) and the encoded key. Only the writer can
 * tell if a receipt is valid. A receipt is no secret: a client that uses one
 * needs the right to write its key. */
#ifndef API_RECEIPT_H
#define API_RECEIPT_H

#include "http/input_error.h"

/* Appends the receipt of a claimed job. */
void receipt_write(const struct kx_entry *job, struct kx_buffer *out);

/* Reads a JSON array of receipts, one mutation for each; the caller has checked
 * the number of elements. A mutation has the type of *each, and a copy of
 * each->job with the claim of its receipt. Everything is allocated in memory.
 * Returns false on an error: PROBLEM_BAD_REQUEST if the value is no array,
 * PROBLEM_BAD_VALUE if an element, which the error's pointer names, is no
 * receipt. */
bool receipt_read_all(struct kx_slice array, const struct kx_mutation *each,
                      const void *memory, struct kx_mutation **mutations_out,
                      struct input_error *error);

/* Returns how many mutations at the start of the commit acknowledge jobs of any
 * queue: the member `ack` of POST /atomic. Clients number these apart from the
 * other mutations. */
size_t receipt_acks(const struct kx_commit *commit);

#endif
