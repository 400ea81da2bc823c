/* Cursors: opaque text that continues a list after its last page. A cursor has
 * the list to which it belongs and a checksum, but no state of the server. So
 * it stays valid after a restart, after writes, and when the entry before its
 * position was removed. The checksum finds accidents, such as a truncated copy;
 * it is not a protection against forgery. */
#ifndef API_CURSOR_H
#define API_CURSOR_H

#include "http/input_error.h"

enum {
    PAGE_LIMIT_DEFAULT = 100, /* of entries, or groups of them */
    PAGE_BYTES_MAX = 4 << 20  /* after so many bytes a page ends early, with a
                               * cursor */
};

/* A hash of all that decides which entries a list has and in which order (index
 * name, bounds, direction). Limit and `keys` are not part of it: a client may
 * change them from page to page. */
uint64_t cursor_list(struct kx_slice index, const struct kx_range *range);

/* Appends the cursor for the entries after `position` (kx_scan_position), as
 * base64url, which needs no escaping in a URL nor in JSON. */
void cursor_write(uint64_t list, struct kx_slice position,
                  struct kx_buffer *out);

/* Appends the position of a cursor to out. False with PROBLEM_CURSOR_INVALID
 * for a text that is not a cursor, PROBLEM_CURSOR_MISMATCH for the cursor of
 * another list, or when memory ran out. selector_resume checks that the
 * position lies within the list. */
bool cursor_read(struct kx_slice text, uint64_t list, struct kx_buffer *out,
                 struct input_error *error);

/* A page of what is not entries: groups of conflicts, access tokens. (page.h
 * has pages of entries.) */
struct cursor_page {
    size_t limit;           /* the caller's own, if the request has none */
    uint64_t list;          /* of its cursors (cursor.h), set by the caller */
    struct kx_buffer after; /* end of the last page, then of this one */
};

/* Reads `limit` and `cursor`; other parameters are refused. False with the
 * error, also when memory ran out. */
bool cursor_page_read(struct request *request, struct cursor_page *paging,
                      struct input_error *error);

#endif
