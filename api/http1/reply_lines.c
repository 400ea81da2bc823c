/* Writes headers as text, where HTTP/2 passes on fields. */
#include "http1/reply_lines.h"

#include "net/httpdate.h"

static void add(struct kx_buffer *out, const char *name, const char *value)
{
    size_t size = strcspn(value, "\r\n");
    kx_add_text(out, name);
    kx_add_text(out, ": ");
    kx_add(out, value, size);
    kx_add_text(out, "\r\n");
    out->failed |= value[size] != '\0';
}

void reply_lines_add(struct kx_buffer *out, const struct reply *reply)
{
    add(out, "Date", httpdate_now());
    if (reply->content_type != NULL)
        add(out, "Content-Type", reply->content_type);
    for (size_t i = 0; i < reply->header_count; i++)
        add(out, reply->headers[i].name, reply->headers[i].value);
}
