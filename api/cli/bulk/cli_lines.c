/* A buffer of bytes that were read, of which lines are taken. */
#include "cli/bulk/cli_lines.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10 };

void cli_lines_begin(struct cli_lines *lines, int fd, const void *owner)
{
    *lines = (struct cli_lines){.fd = fd};
    kx_buffer_init(&lines->bytes, owner);
}

static void take(struct cli_lines *lines, size_t size,
                 struct kx_slice *line_out)
{
    *line_out = kx_slice(lines->bytes.data + lines->at, size);
    lines->at = lines->searched = lines->at + size;
}

bool cli_lines_next(struct cli_lines *lines, struct kx_slice *line_out)
{
    size_t left = lines->bytes.size - lines->searched;
    const uint8_t *from = lines->bytes.data + lines->searched;
    const uint8_t *end = left > 0 ? memchr(from, '\n', left) : NULL;
    lines->searched = lines->bytes.size;
    if (end != NULL)
        take(lines, (size_t)(end + 1 - lines->bytes.data) - lines->at,
             line_out);
    else if (lines->ended && lines->at < lines->bytes.size)
        take(lines, lines->bytes.size - lines->at, line_out);
    else
        return false;
    return true;
}

void cli_lines_back(struct cli_lines *lines, struct kx_slice line)
{
    lines->at = lines->searched = lines->at - line.size;
}

bool cli_lines_readable(const struct cli_lines *lines)
{
    struct pollfd input = {.fd = lines->fd, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

/* Moves the bytes that have not been taken to the start of the buffer. */
static void drop_taken(struct cli_lines *lines)
{
    struct kx_buffer *bytes = &lines->bytes;
    if (lines->at == 0)
        return;
    bytes->size -= lines->at;
    memmove(bytes->data, bytes->data + lines->at, bytes->size);
    lines->searched -= lines->at;
    lines->at = 0;
}

bool cli_lines_read(struct cli_lines *lines)
{
    struct kx_buffer *bytes = &lines->bytes;
    drop_taken(lines);
    errno = ENOMEM;
    if (!kx_buffer_reserve(bytes, READ_BYTES))
        return false;
    ssize_t size = read(lines->fd, bytes->data + bytes->size, READ_BYTES);
    if (size < 0)
        return errno == EINTR;
    bytes->size += (size_t)size;
    lines->ended = size == 0;
    return true;
}
