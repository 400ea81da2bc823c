/* One page of a scan as JSON: for GET /list and for each range of POST /get. It
 * joins the selector (which entries) with the cursor (where the last page
 * ended). list_stream.h is the same for lists of any length. */
#ifndef API_PAGE_H
#define API_PAGE_H

#include "rest/cursor.h"
#include "entries/entry_writer.h"
#include "rest/selector.h"

/* What is asked of a page, and where the scan stands. */
struct page {
    struct selector selector;
    uint64_t list; /* the list its cursors belong to */
    struct shape shape;
    size_t limit;
    double share; /* of the entries: where the first page begins; < 0: at the
                   * bound */
    struct kx_where *where;     /* that the entries meet; NULL: all are shown */
    struct kx_slice conditions; /* its text */
    struct kx_slice prefix;     /* of the selection; set if there is a where */
    size_t read;                /* entries that were compared with it */
    size_t bytes;               /* read for them */
    size_t count;               /* of those that are shown */
    bool more;                  /* entries are left after the page written */
    struct kx_buffer bound;     /* holds the bound of a continued scan */
    struct kx_buffer place;     /* holds that of a scan from a share */
};

/* Makes a page of a selection, continued at cursor when that is not empty.
 * `limit` and shape are the caller's, set before. The bound lives in memory;
 * the page keeps slices of selection, which must outlive it. False with
 * PROBLEM_BAD_PARAMETER for a shape that contradicts itself, or the error of
 * selector_make or selector_continue. */
bool page_begin(struct page *page, struct selection *selection,
                struct kx_slice cursor, void *memory,
                struct input_error *error);

/* Copies a page that is continued later, with the paths that its range has. */
void page_copy(struct page *copy, const struct page *page);
/* The same into memory. NULL: memory ran out. */
struct page *page_keep(const struct page *page, const void *memory);

/* Narrows the page's range to what follows, in its direction, the place of its
 * share, unless that was continued by a cursor. Begins and ends its own view,
 * and leaves an index that is not there to be found by page_write. False when
 * memory ran out, or the storage failed. */
bool page_begin_at_share(struct page *page, struct kx_reader *reader);

/* Appends `"entries":[...],"cursor":...` and sets `more`. Within a view. KX_OK,
 * or as kx_scan and kx_scan_next; the reply then holds a torn text, to be
 * replaced by a problem. KX_AGAIN: nothing was found so far, and the reply
 * holds an empty page with a cursor; the page continues from there when it is
 * written again in another view. */
enum kx_status page_write(struct page *page, struct kx_reader *reader,
                          struct entry_writer *writer, struct kx_fault *fault);

#endif
