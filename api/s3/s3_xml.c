/* Finds elements by searching for their tags: text in S3's replies contains '<'
 * only as an escape. */
#include "s3/s3_xml.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Returns the position of the tag, or the size of the text if it has no such
 * tag. */
static size_t find(struct kx_slice text, const char *tag)
{
    if (text.size == 0)
        return 0;
    const void *at = memmem(text.data, text.size, tag, strlen(tag));
    return at == NULL ? text.size : (size_t)((const uint8_t *)at - text.data);
}

bool s3_xml_next(struct kx_slice *rest, const char *name,
                 struct kx_slice *content_out)
{
    char open[64], close[64];
    int size = snprintf(open, sizeof open, "<%s>", name);
    snprintf(close, sizeof close, "</%s>", name);
    size_t start = find(*rest, open);
    if (start == rest->size)
        return false;
    start += (size_t)size;
    struct kx_slice after = kx_slice(rest->data + start, rest->size - start);
    size_t end = find(after, close);
    if (end == after.size)
        return false;
    *content_out = kx_slice(after.data, end);
    end += (size_t)size + 1;
    *rest = kx_slice(after.data + end, after.size - end);
    return true;
}

/* Decodes the escape at the beginning of the text to *out and returns its size,
 * or 0 if it is not one of the five. */
static size_t escape(struct kx_slice text, char *out)
{
    static const struct {
        const char *text;
        char is;
    } ESCAPES[] = {{"&amp;", '&'},
                   {"&lt;", '<'},
                   {"&gt;", '>'},
                   {"&quot;", '"'},
                   {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof ESCAPES / sizeof *ESCAPES; i++)
        if (kx_starts_with(text, kx_text(ESCAPES[i].text))) {
            *out = ESCAPES[i].is;
            return strlen(ESCAPES[i].text);
        }
    return 0;
}

bool s3_xml_text(struct kx_slice xml, const char *name, char *out, size_t size)
{
    struct kx_slice content;
    size_t used = 0;
    out[0] = '\0';
    if (!s3_xml_next(&xml, name, &content))
        return false;
    for (size_t at = 0; at < content.size && used + 1 < size; used++) {
        size_t step =
            escape(kx_slice(content.data + at, content.size - at), &out[used]);
        if (step == 0)
            out[used] = (char)content.data[at];
        at += step == 0 ? 1 : step;
        if (at >= content.size) {
            out[used + 1] = '\0';
            return true;
        }
    }
    out[used] = '\0';
    return content.size == 0;
}

int64_t s3_xml_time(const char *text)
{
    struct tm parts = {.tm_year = 0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    unsigned ms = 0;
    if (rest == NULL)
        return INT64_MAX;
    if (*rest == '.' && sscanf(rest, ".%3u", &ms) != 1)
        return INT64_MAX;
    return (int64_t)timegm(&parts) * 1000 + ms;
}
