/* Requests on sockets of their own, for alloc_http.c. */
#include "alloc_client.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_peer.h"

enum { FRAME_HEAD = 9 };
enum {
    DATA = 0,
    HEADERS = 1,
    RESET = 3,
    SETTINGS = 4,
    GOAWAY = 7,
    WINDOW_UPDATE = 8
};
enum { END_STREAM = 1, END_HEADERS = 4 };

static const char *token; /* or NULL */

static void keep(struct answer *answer, const char *data, size_t size)
{
    if (size > sizeof answer->body - 1 - answer->size)
        size = sizeof answer->body - 1 - answer->size;
    memcpy(answer->body + answer->size, data, size);
    answer->size += size;
    answer->body[answer->size] = '\0';
}

static size_t body_size(const struct call *call)
{
    if (call->body == NULL)
        return 0;
    return call->body_size != 0 ? call->body_size : strlen(call->body);
}

/* ---- HTTP/1.1 ----------------------------------------------------------- */

static bool is_events(const char *head)
{
    return strstr(head, "text/event-stream") != NULL ||
           strstr(head, "application/octet-stream") != NULL;
}

static bool say_head(const struct call *call)
{
    char head[1024];
    int size =
        snprintf(head, sizeof head,
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "x-denokv-version: 3\r\n",
                 call->method, call->target);
    if (call->type != NULL)
        size += snprintf(head + size, sizeof head - (size_t)size,
                         "Content-Type: %s\r\n", call->type);
    if (token != NULL)
        size += snprintf(head + size, sizeof head - (size_t)size,
                         "Authorization: Bearer %s\r\n", token);
    size += snprintf(head + size, sizeof head - (size_t)size,
                     "Content-Length: %zu\r\n\r\n", body_size(call));
    return peer_say(head, (size_t)size);
}

static void call_http1(const struct call *call, struct answer *answer)
{
    const char *end = NULL;
    const char *input = NULL;
    size_t size = 0;
    if (!say_head(call) ||
        (call->body != NULL && !peer_say(call->body, body_size(call))))
        return;
    while (peer_hear(&answer->late)) {
        input = peer_heard(&size);
        end = strstr(input, "\r\n\r\n");
        if (end != NULL && is_events(input) && end[4] != '\0' &&
            strstr(input, "Content-Length") == NULL)
            break;
    }
    if (end == NULL || strncmp(input, "HTTP/1.1 ", 9) != 0)
        return;
    answer->status = atoi(input + 9);
    keep(answer, end + 4, size - (size_t)(end + 4 - input));
}

/* ---- HTTP/2 ------------------------------------------------------------- */

static uint8_t output[8192];
static size_t output_size;

static void add(const void *data, size_t size)
{
    memcpy(output + output_size, data, size);
    output_size += size;
}

static void add_frame(uint8_t type, uint8_t flags, uint8_t stream,
                      const void *data, size_t size)
{
    uint8_t head[FRAME_HEAD] = {0, (uint8_t)(size >> 8), (uint8_t)size, type,
                                flags};
    head[FRAME_HEAD - 1] = stream;
    add(head, sizeof head);
    add(data, size);
}

/* A literal that is not indexed; all are shorter than 127 bytes. */
static size_t put_field(uint8_t *out, const char *name, const char *value)
{
    size_t name_size = strlen(name);
    size_t value_size = strlen(value);
    out[0] = 0;
    out[1] = (uint8_t)name_size;
    memcpy(out + 2, name, name_size);
    out[2 + name_size] = (uint8_t)value_size;
    memcpy(out + 3 + name_size, value, value_size);
    return 3 + name_size + value_size;
}

static void make_request(const struct call *call)
{
    uint8_t fields[1024];
    char bearer[120];
    size_t size = put_field(fields, ":method", call->method);
    size += put_field(fields + size, ":scheme", "http");
    size += put_field(fields + size, ":path", call->target);
    size += put_field(fields + size, ":authority", "localhost");
    size += put_field(fields + size, "x-denokv-version", "3");
    if (call->type != NULL)
        size += put_field(fields + size, "content-type", call->type);
    if (token != NULL) {
        snprintf(bearer, sizeof bearer, "Bearer %s", token);
        size += put_field(fields + size, "authorization", bearer);
    }
    output_size = 0;
    add("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    add_frame(SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff", 6); /* windows */
    add_frame(WINDOW_UPDATE, 0, 0, "\x7f\xff\0\0", 4);
    add_frame(HEADERS, END_HEADERS | (call->body == NULL ? END_STREAM : 0), 1,
              fields, size);
    if (call->body != NULL)
        add_frame(DATA, END_STREAM, 1, call->body, body_size(call));
}

static int status_of(const uint8_t *block, size_t size)
{
    nghttp2_hd_inflater *inflater = NULL;
    nghttp2_nv field;
    int flags = 0;
    int status = 0;
    nghttp2_hd_inflate_new(&inflater);
    ssize_t used =
        nghttp2_hd_inflate_hd2(inflater, &field, &flags, block, size, 1);
    if (used > 0 && (flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        status = atoi((const char *)field.value);
    nghttp2_hd_inflate_del(inflater);
    return status;
}

/* Takes a frame; true when nothing more is to be waited for. */
static bool take_frame(const uint8_t *frame, size_t size, struct answer *answer)
{
    uint8_t type = frame[3];
    const uint8_t *data = frame + FRAME_HEAD;
    if (type == GOAWAY || type == RESET) {
        if (type == RESET)
            answer->status = 0;
        return true;
    }
    if (frame[FRAME_HEAD - 1] != 1)
        return false;
    if (type == HEADERS && answer->status == 0)
        answer->status = status_of(data, size);
    if (type == DATA)
        keep(answer, (const char *)data, size);
    return (frame[4] & END_STREAM) != 0;
}

/* Takes the frames that are there, from *at on; true when nothing more is to
 * be waited for. */
static bool take_frames(size_t *at, bool events, struct answer *answer)
{
    size_t input_size;
    const char *input = peer_heard(&input_size);
    while (input_size - *at >= FRAME_HEAD) {
        const uint8_t *frame = (const uint8_t *)input + *at;
        size_t size = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
        if (input_size - *at < FRAME_HEAD + size)
            return false;
        *at += FRAME_HEAD + size;
        if (take_frame(frame, size, answer) || (events && answer->size > 0))
            return true;
    }
    return false;
}

static void call_http2(const struct call *call, struct answer *answer)
{
    size_t at = 0;
    bool events = strstr(call->target, "watch") != NULL;
    bool ended = false;
    make_request(call);
    if (!peer_say(output, output_size))
        return;
    while (!ended && peer_hear(&answer->late))
        ended = take_frames(&at, events, answer);
}

void client_use_token(const char *text)
{
    token = text;
}

void client_call(uint16_t port, bool http2, const struct call *call,
                 struct answer *answer_out)
{
    answer_out->status = 0;
    answer_out->late = false;
    answer_out->size = 0;
    answer_out->body[0] = '\0';
    if (!peer_open(port, http2))
        ; /* then there is no answer */
    else if (http2)
        call_http2(call, answer_out);
    else
        call_http1(call, answer_out);
    peer_close();
}
