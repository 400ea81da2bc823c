/* The log: logfmt lines on standard error. A line is built on the stack and
 * written with one write(), so that lines of several threads never mix. Logging
 * allocates nothing, so that running out of memory can be logged, and keeps
 * errno. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kindex/log.h"

enum { LINE_SIZE = 2048 };

static const struct {
    const char *name;
    const char *priority; /* prefix of a line, as in sd-daemon(3) */
} levels[] = {
    [KX_LOG_ERROR] = {"error", "<3>"},
    [KX_LOG_WARNING] = {"warning", "<4>"},
    [KX_LOG_INFO] = {"info", "<6>"},
    [KX_LOG_DEBUG] = {"debug", "<7>"},
};

static _Atomic int most_level = KX_LOG_INFO;
static atomic_uint lost; /* lines lost since the last one that was written */

void kx_log_level(enum kx_log_level most)
{
    atomic_store_explicit(&most_level, (int)most, memory_order_relaxed);
}

/* Returns the number of characters that snprintf stored in `room` bytes if it
 * returned `wanted`. */
static size_t kept(int wanted, size_t room)
{
    if (wanted < 0)
        return 0;
    return (size_t)wanted < room ? (size_t)wanted : room - 1;
}

/* Replaces line breaks: one event is one line, even if its fields contain some.
 */
static void flatten(char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((uint8_t)line[i] < ' ')
            line[i] = ' ';
}

/* Returns false if a write would block because the log's reader is slow. (A
 * line is shorter than PIPE_BUF, which a pipe takes at once.) */
static bool has_room(void)
{
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&log, 1, 0) != 0;
}

/* Counts a line that cannot be written, or that is not read, as lost: the log
 * never stops the program. */
static void write_line(const char *line, size_t size)
{
    ssize_t written;
    if (!has_room()) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    do {
        written = write(STDERR_FILENO, line, size);
    } while (written < 0 && errno == EINTR);
}

/* Logs the number of lost lines once the log is read again. */
static void write_lost(void)
{
    char line[80];
    if (atomic_load_explicit(&lost, memory_order_relaxed) == 0 || !has_room())
        return;
    unsigned count = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
    int size = snprintf(line, sizeof line,
                        "level=warning event=log-lines-lost count=%u\n", count);
    write_line(line, (size_t)size);
}

void kx_log(enum kx_log_level level, const char *event, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&most_level, memory_order_relaxed))
        return;
    int caller_errno = errno;
    char line[LINE_SIZE];
    const char *priority =
        getenv("JOURNAL_STREAM") != NULL ? levels[level].priority : "";
    size_t size = kept(snprintf(line, sizeof(line), "%slevel=%s event=%s",
                                priority, levels[level].name, event),
                       sizeof(line));

    if (format != NULL && format[0] != '\0' && size + 2 < sizeof(line)) {
        line[size++] = ' ';
        va_list fields;
        va_start(fields, format);
        size +=
            kept(vsnprintf(line + size, sizeof(line) - size, format, fields),
                 sizeof(line) - size);
        va_end(fields);
    }
    flatten(line, size);
    line[size++] = '\n'; /* replaces the NUL */
    write_lost();
    write_line(line, size);
    errno = caller_errno;
}
