/* What a browser is let do on behalf of a page. By the header Host a page is
 * found out whose own name was made to point here (DNS rebinding); by Origin
 * and Sec-Fetch-Site one of another site, which may change something or load a
 * reply only if --cors-origin names it, and only then may it read what it gets.
 * Other programs have nothing to do with this. */
#ifndef API_BROWSER_H
#define API_BROWSER_H

#include "http/request.h"

/* False when host or origin are not allowed: reply is then complete (421,
 * 403). Notes the origin of a page that may read the reply. */
bool cors_admit(struct request *request, struct reply *reply);

/* Answers the question of a browser whether it may send a request: adds what an
 * OPTIONS reply, which has the header Allow, needs for that. */
void cors_preflight(const struct request *request, struct reply *reply);

/* Adds what lets the page read the reply if it may, and what keeps the reply
 * out of other pages if not. */
void cors_expose(const struct request *request, struct reply *reply);

#endif
