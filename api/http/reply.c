/* Adds headers to a reply. */
#include "http/request.h"

#include <assert.h>
#include <stdarg.h>
#include <talloc.h>

/* More than REPLY_HEADERS_MAX headers are an error in the program. */
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
