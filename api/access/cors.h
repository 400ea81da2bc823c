/* Limits what a browser may do for a page. The header Host shows a page whose
 * name was made to point here (DNS rebinding). Origin and Sec-Fetch-Site show a
 * page of another site, which may change something, or load or read a reply,
 * only if --cors-origin names it. Clients that are not browsers are not
 * affected. The loop's thread. */
#ifndef API_CORS_H
#define API_CORS_H

#include "http/request.h"

/* False when host or origin are not allowed: reply is then complete (421,
 * 403). Notes the origin of a page that may read the reply. */
bool cors_admit(struct request *request, struct reply *reply);

/* Adds the headers of a CORS preflight to the reply to OPTIONS, which already
 * has Allow. */
void cors_preflight(const struct request *request, struct reply *reply);

/* Adds the headers that let the page read the reply if it may, or else keep
 * other pages from loading it. */
void cors_expose(const struct request *request, struct reply *reply);

#endif
