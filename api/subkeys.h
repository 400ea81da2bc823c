/* The keys that begin with the parts of another key and have more. Who asks for
 * a key at which there is nothing often means those. */
#ifndef API_SUBKEYS_H
#define API_SUBKEYS_H

#include "request.h"

/* Appends the address that lists the entries under a key
 * ("/list?prefix=users"), if there are any and the caller may list them. One
 * seek in a view of its own (not inside one); reply->flush then covers what was
 * seen. Returns whether it was appended; without memory out->failed is set. */
bool subkeys_find(struct request *request, struct reply *reply,
                  struct kx_slice key, struct kx_buffer *out);

#endif
