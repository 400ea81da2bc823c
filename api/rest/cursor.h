/* Cursors: opaque texts with which a client continues a list after a page. A
 * cursor names its list and a position, and the server keeps no state for it,
 * so it stays valid after a restart, after writes, and if the entry at its
 * position is removed. Its checksum finds accidents such as a truncated copy,
 * not forgery.
 */
#ifndef API_CURSOR_H
#define API_CURSOR_H

#include "http/input_error.h"

enum {
    PAGE_LIMIT_DEFAULT = 100, /* entries, or groups of entries */
    PAGE_BYTES_MAX = 4 << 20  /* a page ends early after this many bytes */
};

/* A hash of all that decides which entries a list has and in which order (index
 * name, bounds, direction). Limit and `keys` are not part of it: a client may
 * change them from page to page. */
uint64_t cursor_list(struct kx_slice index, const struct kx_range *range);

/* Appends the cursor for the entries after `position` (kx_scan_position), as
 * base64url, which needs no escaping in a URL or in JSON. */
void cursor_write(uint64_t list, struct kx_slice position,
                  struct kx_buffer *out);

/* Appends the position of a cursor to out. False with PROBLEM_CURSOR_INVALID
 * for a text that is not a cursor, PROBLEM_CURSOR_MISMATCH for the cursor of
 * another list, or when memory ran out. selector_resume checks that the
 * position lies within the list. */
bool cursor_read(struct kx_slice text, uint64_t list, struct kx_buffer *out,
                 struct input_error *error);

/* A page of groups of conflicts or access tokens. (Pages of entries are in
 * entries/page.h.) */
struct cursor_page {
    size_t limit;           /* set by the caller: the default */
    uint64_t list;          /* set by the caller: the list of its cursors */
    struct kx_buffer after; /* position of the previous page's end, then of this
                             * page's */
};

/* Reads `limit` and `cursor`; other parameters are errors. Returns false with
 * the error. */
bool cursor_page_read(struct request *request, struct cursor_page *paging,
                      struct input_error *error);

#endif
