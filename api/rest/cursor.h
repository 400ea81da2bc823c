/* Cursors: opaque text that continues a list where its page ended. It says
 * which list it belongs to and carries a checksum, but no state of the server,
 * so it stays good for ever: after a restart, after writes, and when the entry
 * it points behind is gone. The checksum finds mistakes (a truncated copy,
 * another list's cursor); it is no secret and protects nothing. */
#ifndef API_CURSOR_H
#define API_CURSOR_H

#include "http/input_error.h"

/* A number that stands for a list: all that decides which entries it has, in
 * which order (index name, bounds, direction). Limit and `keys` are not part
 * of it: a client may change them from page to page. */
uint64_t cursor_list(struct kx_slice index, const struct kx_range *range);

/* Appends the cursor for the entries after `position` (kx_scan_position), as
 * base64url, which needs no escaping in a URL nor in JSON. */
void cursor_write(uint64_t list, struct kx_slice position,
                  struct kx_buffer *out);

/* Appends the position of a cursor to out. False with PROBLEM_CURSOR_INVALID
 * for what is none, PROBLEM_CURSOR_MISMATCH for that of another list, or memory
 * used up. That the position lies within the list is left to
 * selector_resume. */
bool cursor_read(struct kx_slice text, uint64_t list, struct kx_buffer *out,
                 struct input_error *flaw);

#endif
