/* The keys that begin with the parts of another key and have more. A request
 * for a key without an entry often means these. */
#ifndef API_SUBKEYS_H
#define API_SUBKEYS_H

#include "rest/selector.h"

/* The range of all keys that have more parts than this one, made in memory.
 * False when the caller may not list them, or memory ran out. Not inside a
 * view. */
bool subkeys_range(const struct request *request, struct kx_slice key,
                   const void *memory, struct selector *range_out);

/* Is there an entry in that range? One seek, inside a view and outside of a
 * scan. Also false after very many hidden rows (expired ones, for example),
 * which are not all read. */
bool subkeys_exist(struct kx_reader *reader, const struct selector *range);

/* Appends the path that lists the entries under a key ("/list?prefix=users"),
 * if there are any and the caller may list them. Begins and ends its own view;
 * reply->flush then covers what was read. Returns whether it was appended. */
bool subkeys_find(struct request *request, struct reply *reply,
                  struct kx_slice key, struct kx_buffer *out);

/* 404 key-not-found, with the key as JSON in the detail: its types tell 42 from
 * "42". Where there are entries under the key, `listedAt` is where the caller
 * finds them. Not inside a view. */
void subkeys_absent(struct request *request, struct reply *reply,
                    struct kx_slice key);

#endif
