/* Handlers of the console, the pages for a browser. They follow handler_fn in
 * http/request.h. None of them needs a store. */
#ifndef API_CONSOLE_HANDLERS_H
#define API_CONSOLE_HANDLERS_H

#include "http/request.h"

/* GET /console and GET /docs: the page, with a nonce for this reply. With
 * --console off the pages and their files are 404. */
handler_fn console_page;
/* GET /console/{version}/{file}: a file of the pages. It never changes, because
 * another version has another address. */
handler_fn console_file;
/* GET /: redirects a browser, which asks for HTML, to the page. Other clients
 * get the answer of ops_service. */
handler_fn console_or_service;

#endif
