/* What handlers do to a reply besides filling in its members. */
#include "http/request.h"

#include <assert.h>
#include <stdarg.h>
#include <talloc.h>

/* More headers than there is room for are a mistake in a handler. */
void reply_header(struct reply *reply, const char *name, const char *value)
{
    assert(reply->header_count < REPLY_HEADERS_MAX);
    reply->headers[reply->header_count++] = (struct header){name, value};
}

void reply_headerf(struct request *request, struct reply *reply,
                   const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *value = talloc_vasprintf(request->memory, format, arguments);
    va_end(arguments);
    if (value == NULL)
        reply->body.failed = true;
    else
        reply_header(reply, name, value);
}
