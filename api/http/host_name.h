/* What the Host header and HTTP/2's :authority may say. */
#ifndef API_HOST_NAME_H
#define API_HOST_NAME_H

#include "kindex.h"

/* Is it a name, an IPv4 address or, in brackets, an IPv6 address, with or
 * without a port? An empty one is not: no URI of this service lacks its host.
 * http1/framing.c checks the same, piece by piece. */
bool host_name_is_valid(struct kx_slice host);

#endif
