/* The lines of a file, pipe or terminal. Taking a line never blocks, so the
 * caller can handle answers while no line has arrived. */
#ifndef API_CLI_LINES_H
#define API_CLI_LINES_H

#include "kindex.h"

struct cli_lines {
    int fd;
    struct kx_buffer bytes; /* read from fd */
    size_t at;              /* bytes before this have been taken */
    size_t searched;        /* no line end between `at` and here */
    bool ended;             /* fd has no further bytes */
};

/* Begins to read lines from fd, a blocking descriptor that the caller closes.
 * Memory is allocated in owner, a talloc context. */
void cli_lines_begin(struct cli_lines *lines, int fd, const void *owner);

/* Takes the next line, including its line end, which only the last line of the
 * input may lack. The slice is valid until the next cli_lines_read. False if no
 * complete line has been read. */
bool cli_lines_next(struct cli_lines *lines, struct kx_slice *line_out);

/* Puts the line that was taken last back. */
void cli_lines_back(struct cli_lines *lines, struct kx_slice line);

/* True if cli_lines_read would not wait. */
bool cli_lines_readable(const struct cli_lines *lines);

/* Reads from fd once, and may block. Returns true also if a signal ends the
 * wait. Returns false with errno if the input cannot be read or memory ran out.
 */
bool cli_lines_read(struct cli_lines *lines);

#endif
