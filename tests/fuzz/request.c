/* Requests to the whole service, one after the other in one store: a line
 * "METHOD target", header lines, an empty line, the body, and the byte 0x1e
 * before the next. Every reply is one that a client can make something of, and
 * none is a 500. */
#include "house.h"
#include "http/router.h"

enum { REQUESTS_MAX = 8, TARGET_MAX = 8192 };

static enum method method_of(struct kx_slice name)
{
    char text[16] = "";
    if (name.size < sizeof text)
        memcpy(text, name.data, name.size);
    return method_parse(text);
}

/* Lines up to an empty one. */
static struct kx_slice take_head(struct kx_slice *rest)
{
    struct kx_slice head = kx_slice(rest->data, 0);
    while (rest->size > 0) {
        struct kx_slice line = fuzz_until(rest, '\n');
        if (line.size == 0)
            break;
        head.size = (size_t)(line.data + line.size - head.data);
    }
    return head;
}

/* Targets are what framing lets through. */
static bool is_target(struct kx_slice target)
{
    for (size_t i = 0; i < target.size; i++)
        if (target.data[i] <= ' ' || target.data[i] == 127)
            return false;
    return target.size > 0 && target.size <= TARGET_MAX &&
           (target.data[0] == '/' || target.data[0] == '*');
}

static void send_one(struct kx_slice text, void *memory)
{
    struct kx_slice line = fuzz_until(&text, '\n');
    struct house_request request = {.method =
                                        method_of(fuzz_until(&line, ' '))};
    request.target = fuzz_alone(line, memory);
    request.head = take_head(&text);
    request.body = fuzz_alone(text, memory);
    if (is_target(request.target) &&
        memchr(request.head.data, 0, request.head.size) == NULL)
        house_send(&request);
}

void fuzz(struct kx_slice input, void *memory)
{
    house_open(memory);
    for (int i = 0; i < REQUESTS_MAX && input.size > 0; i++)
        send_one(fuzz_until(&input, 0x1e), memory);
    house_tidy(memory);
}
