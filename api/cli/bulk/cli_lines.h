/* The lines of a file, pipe or terminal. Taking a line never waits for the
 * input, so that requests under way can continue while there is no line. */
#ifndef API_CLI_LINES_H
#define API_CLI_LINES_H

#include "kindex.h"

struct cli_lines {
    int fd;
    struct kx_buffer bytes; /* read from fd */
    size_t at;              /* bytes before this have been taken */
    size_t searched;        /* between at and this there is no line end */
    bool ended;             /* fd has no further bytes */
};

/* Begins with the lines of fd, a blocking descriptor that stays the caller's.
 * Memory is allocated in owner. */
void cli_lines_begin(struct cli_lines *lines, int fd, const void *owner);

/* Takes the next line, with its end if it has one; only the last line of the
 * input may have none. The slice is valid until the next cli_lines_read. False:
 * no complete line has been read. */
bool cli_lines_next(struct cli_lines *lines, struct kx_slice *line_out);

/* Puts the line that was taken last back. */
void cli_lines_back(struct cli_lines *lines, struct kx_slice line);

/* True if cli_lines_read would not wait. */
bool cli_lines_readable(const struct cli_lines *lines);

/* Reads from fd once; a signal ends the wait, which is no error. False with
 * errno: the input cannot be read, or memory ran out. */
bool cli_lines_read(struct cli_lines *lines);

#endif
