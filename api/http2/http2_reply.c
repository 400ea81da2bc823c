/* The head of a reply as fields, the same that HTTP/1.1 would show. */
#include "http2/http2_state.h"

#include <time.h>

/* The number in decimal, at the end of out. */
static const char *digits(uint64_t number, char *out, size_t size)
{
    char *first = out + size - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return first;
}

/* Made once a second (RFC 9110 section 6.6.1). */
static const char *date(struct http2 *http2)
{
    time_t second = time(NULL);
    if (second != http2->date_second)
        httpdate_write(http2->date);
    http2->date_second = second;
    return http2->date;
}

/* The length of most streams is not known, and a 204 must not have one. */
static bool has_length(const struct reply *reply)
{
    return reply->stream != NULL ? reply->stream->size != 0
                                 : reply->status != 204;
}

static uint64_t length_of(const struct reply *reply)
{
    return reply->stream != NULL ? reply->stream->size
                                 : reply_bytes(reply).size;
}

bool http2_reply_has_body(const struct http2_stream *stream)
{
    const struct reply *reply = &stream->exchange->reply;
    return stream->exchange->request.method != METHOD_HEAD &&
           reply->status != 304 &&
           (reply->stream != NULL || reply_bytes(reply).size > 0);
}

size_t http2_reply_fields(struct http2_stream *stream, struct header *fields)
{
    const struct reply *reply = &stream->exchange->reply;
    size_t count = 0;
    fields[count++] = (struct header){
        ":status",
        digits((uint64_t)reply->status, stream->status, sizeof stream->status)};
    fields[count++] = (struct header){"date", date(stream->connection->http2)};
    if (reply->content_type != NULL)
        fields[count++] = (struct header){"content-type", reply->content_type};
    if (has_length(reply)) {
        fields[count++] = (struct header){
            "content-length",
            digits(length_of(reply), stream->length, sizeof stream->length)};
    }
    for (size_t i = 0; i < reply->header_count; i++)
        fields[count++] = reply->headers[i];
    return count;
}
