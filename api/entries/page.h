/* A page of a scan: the selector (which entries), the cursor (where the
 * previous page ended) and the shape (which parts to show). For GET /list,
 * whole or as a stream, and for each range of POST /get. */
#ifndef API_PAGE_H
#define API_PAGE_H

#include "rest/cursor.h"
#include "entries/entry_writer.h"
#include "rest/selector.h"

/* The ranges of a page with several ranges. */
struct page_ranges {
    struct kx_ranges ranges;
    struct kx_list_range list[KX_RANGES_MAX];
    struct selector selectors[KX_RANGES_MAX];
};

struct page {
    struct selector selector;
    struct page_ranges *several; /* NULL: the selector's range only. Otherwise
                                  * `selector` is the range that failed */
    uint64_t list;               /* the list its cursors belong to */
    struct shape shape;
    size_t limit;
    double share; /* 0 to 1: the fraction of the entries before the first page;
                   * < 0: begin at the bound */
    struct kx_where *where;     /* conditions of shown entries; NULL: none */
    struct kx_slice conditions; /* its text */
    struct kx_slice prefix;     /* of the selection; set if `where` is */
    size_t read;                /* entries compared with `where` */
    size_t bytes;               /* read for these entries */
    size_t count;               /* entries that met `where` */
    bool more;                  /* entries are left after the written page */
    bool digests;               /* the page shows the digest of its entries */
    uint8_t digest[KX_SHA256_SIZE];
    struct kx_buffer bound; /* memory of the bound of a continued scan */
    struct kx_buffer place; /* memory of the bound of a scan from a share */
};

/* Makes a page of a selection, continued at the cursor unless that is empty.
 * The caller has set limit and shape. The page keeps slices of the selection,
 * which must outlive it; its bounds are allocated in memory. Returns false with
 * an error of the cursor or the selection, or PROBLEM_BAD_PARAMETER for a shape
 * that contradicts itself. */
bool page_begin(struct page *page, struct selection *selection,
                struct kx_slice cursor, void *memory,
                struct input_error *error);

/* Makes a page of several ranges, like page_begin. The caller has set
 * page->several, with `merge` and the count of the selections. Ranges that
 * cannot be merged are PROBLEM_BAD_PARAMETER, too. After an error
 * several->ranges.failed is the number of the selection, or the count if the
 * error is about none of them. */
bool page_begin_several(struct page *page, struct selection *selections,
                        struct kx_slice cursor, void *memory,
                        struct input_error *error);

/* Moves a page into `copy`, including the paths that its ranges refer to. The
 * original must not be used afterwards. */
void page_copy(struct page *copy, const struct page *page);

/* Returns true if the caller may list all that the page selects. Otherwise the
 * reply is complete. Must not be called inside a view. */
bool page_allowed(struct request *request, struct reply *reply,
                  const struct page *page);
/* The same check without a reply, before each chunk of a stream. */
bool page_visible(const struct request *request, const struct page *page);

/* Narrows the range to the entries after the page's share, in the direction of
 * the page, unless a cursor continues it. Begins and ends its own view. An
 * absent index is not an error here, since page_write reports it. Returns false
 * if memory ran out or the storage failed. */
bool page_begin_at_share(struct page *page, struct kx_reader *reader);

/* page_scan begins a scan of what the page selects, from its current position,
 * and kx_scan_end ends it. KX_OK, KX_INDEX_ABSENT, KX_INDEX_NOT_READY,
 * KX_NO_MEMORY, KX_FAILED.
 * page_next returns the next entry, valid until the next call. KX_OK; KX_END;
 * KX_AGAIN: continue in another view after page_position; KX_BUSY (too many
 * expired entries in totals), KX_NO_MEMORY, KX_UNREACHABLE, KX_FAILED.
 * page_position appends the position of the last entry to out. */
enum kx_status page_scan(struct page *page, struct kx_reader *reader,
                         struct kx_fault *fault);
enum kx_status page_next(struct page *page, struct kx_reader *reader,
                         struct kx_entry *entry_out, struct kx_fault *fault);
void page_position(const struct page *page, struct kx_reader *reader,
                   struct kx_buffer *out);

/* Narrows the page to the entries after the position, which is copied to
 * `bound`. Returns false if the position is not within the page, or memory ran
 * out. */
bool page_resume(struct page *page, struct kx_slice position);

/* Appends `"entries":[...],"cursor":...`, with `digests` the digest, and sets
 * `more`. Call it inside a
 * view. KX_OK. KX_AGAIN: no entry was found so far; the text is an empty page
 * with a cursor, and another call in another view continues from there. After
 * KX_INDEX_ABSENT, KX_INDEX_NOT_READY, KX_BUSY, KX_NO_MEMORY, KX_UNREACHABLE
 * and KX_FAILED the text is incomplete and must be replaced by a problem. */
enum kx_status page_write(struct page *page, struct kx_reader *reader,
                          struct entry_writer *writer, struct kx_fault *fault);

#endif
