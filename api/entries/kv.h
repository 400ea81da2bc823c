/* One entry: reading a write from the request, committing and answering it; the
 * keys that POST generates; the entries under a key. */
#ifndef API_KV_H
#define API_KV_H

#include "kindex.h"
#include "rest/query_params.h"
#include "rest/selector.h"

/* Reads body and ?ttl= of a PATCH into the mutation: its type, value and
 * expiry. False with the error. */
bool kv_read_patch(const struct request *request,
                   const struct query_params *query,
                   struct kx_mutation *mutation, struct input_error *error);

enum { ULID_SIZE = 26 };

/* Writes a new ULID of the time kx_now_ms(), without a NUL: 26 characters that
 * sort by time and are unique without coordination. On one thread each ULID is
 * greater than the previous one, also within a millisecond and after the clock
 * was set back. */
void ulid_next(char *out);

/* Sets *range_out to the keys that begin with all parts of this key and have
 * more. Allocates in `memory`. Returns false if the caller may not list them,
 * or memory ran out. Must not be called inside a view. */
bool subkeys_range(const struct request *request, struct kx_slice key,
                   const void *memory, struct selector *range_out);

/* True if the range has an entry. Costs one seek; call it inside a view, but
 * not during a scan. Returns false, too, after very many hidden rows (such as
 * expired entries), which are not all read. */
bool subkeys_exist(struct kx_reader *reader, const struct selector *range);

#endif
