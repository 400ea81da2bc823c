/* Reads files of an operator. */
#include "config/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Reads to the end, or one byte more than `most`. */
static bool read_all(int fd, size_t most, struct kx_buffer *text)
{
    ssize_t got = 1;
    while (got > 0 && text->size <= most && kx_buffer_reserve(text, 1)) {
        got = read(fd, text->data + text->size, text->capacity - text->size);
        if (got > 0)
            text->size += (size_t)got;
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    return got >= 0;
}

static bool is_whole(const struct kx_buffer *text, size_t most, char *why_out,
                     size_t size)
{
    if (text->failed)
        snprintf(why_out, size, "memory ran out");
    else if (text->size > most)
        snprintf(why_out, size, "the file has more than %zu bytes", most);
    return !text->failed && text->size <= most;
}

bool text_file_read(const char *path, size_t most, struct kx_buffer *text_out,
                    char *why_out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read_all(fd, most, text_out);
    if (!good)
        snprintf(why_out, size, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return good && is_whole(text_out, most, why_out, size);
}
