/* One page of a scan as JSON: for GET /list and for each range of POST /get. It
 * joins the selector (which entries) with the cursor (where the last page
 * ended). list_stream.h is the same for lists of any length. */
#ifndef API_PAGE_H
#define API_PAGE_H

#include "rest/cursor.h"
#include "entries/entry_writer.h"
#include "rest/selector.h"

/* The ranges of a page that has several. */
struct page_ranges {
    struct kx_ranges ranges;
    struct kx_list_range list[KX_RANGES_MAX];
    struct selector selectors[KX_RANGES_MAX];
};

/* What is asked of a page, and where the scan stands. */
struct page {
    struct selector selector;
    struct page_ranges *several; /* NULL: only the selector's. Else that is the
                                  * one that could not be scanned */
    uint64_t list;               /* the list its cursors belong to */
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

/* The same of several ranges: `several` of the page has `merge`, and the count
 * of the selections. Also PROBLEM_BAD_PARAMETER for ranges that cannot be
 * merged; `failed` is then the number of the selection, or their count for an
 * error that is about none. */
bool page_begin_several(struct page *page, struct selection *selections,
                        struct kx_slice cursor, void *memory,
                        struct input_error *error);

/* Copies a page that is continued later, with the paths that its ranges have:
 * the copy is used from then on. */
void page_copy(struct page *copy, const struct page *page);

/* May the caller list all that it selects? False: reply is then complete. Not
 * inside a view. */
bool page_allowed(struct request *request, struct reply *reply,
                  const struct page *page);
/* The same without a reply, before each chunk of a stream. */
bool page_visible(const struct request *request, const struct page *page);

/* Narrows the page's range to what follows, in its direction, the place of its
 * share, unless that was continued by a cursor. Begins and ends its own view,
 * and leaves an index that is not there to be found by page_write. False when
 * memory ran out, or the storage failed. */
bool page_begin_at_share(struct page *page, struct kx_reader *reader);

/* A scan of all that the page selects, from where it stands: as kx_scan,
 * kx_scan_next and, appended to out, kx_scan_position; kx_scan_end ends it. */
enum kx_status page_scan(struct page *page, struct kx_reader *reader,
                         struct kx_fault *fault);
enum kx_status page_next(struct page *page, struct kx_reader *reader,
                         struct kx_entry *entry_out, struct kx_fault *fault);
void page_position(const struct page *page, struct kx_reader *reader,
                   struct kx_buffer *out);

/* Narrows the page to what follows a position, which is kept in `bound`. False
 * when it is not within the page, or memory ran out. */
bool page_resume(struct page *page, struct kx_slice position);

/* Appends `"entries":[...],"cursor":...` and sets `more`. Within a view. KX_OK,
 * or as kx_scan and kx_scan_next; the reply then holds a torn text, to be
 * replaced by a problem. KX_AGAIN: nothing was found so far, and the reply
 * holds an empty page with a cursor; the page continues from there when it is
 * written again in another view. */
enum kx_status page_write(struct page *page, struct kx_reader *reader,
                          struct entry_writer *writer, struct kx_fault *fault);

#endif
