/* The header lines of a reply over HTTP/1.1. */
#ifndef API_REPLY_LINES_H
#define API_REPLY_LINES_H

#include "http/request.h"

/* Appends Date, Content-Type and the reply's other headers, each as a line with
 * its CR LF. A value with a line break could forge further headers; out fails
 * instead. */
void reply_lines_add(struct kx_buffer *out, const struct reply *reply);

#endif
