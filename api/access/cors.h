/* Limits what a browser may do for a page. The header Host reveals a page whose
 * name was made to resolve to this server (DNS rebinding). Origin and
 * Sec-Fetch-Site reveal a page of another site, which may change data, or load
 * or read a reply, only if --cors-origin names the site. Clients that are not
 * browsers are not affected. The loop's thread. */
#ifndef API_CORS_H
#define API_CORS_H

#include "http/request.h"

/* Checks host and origin, and notes the origin of a page that may read the
 * reply. On false they are not allowed, and reply is complete (421, 403). */
bool cors_admit(struct request *request, struct reply *reply);

/* Adds the headers of a CORS preflight to the reply to OPTIONS, which already
 * has Allow. */
void cors_preflight(const struct request *request, struct reply *reply);

/* Adds the headers that let the page read the reply if it is allowed to, or
 * otherwise prevent other pages from loading it. */
void cors_expose(const struct request *request, struct reply *reply);

#endif
