/* GET /tree: the next key parts under a prefix, some in each view, so that a
 * long page does not delay commits. A caller with rights on some prefixes only
 * gets the children that lead to these. */
#include "counts/count_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/refusal.h"
#include "rest/cursor.h"
#include "rest/selector.h"

enum { SLICE_CHILDREN = 32 /* found in one view: commits wait for it */ };

/* Lives in the request's memory from the first slice to the last. */
struct tree_page {
    struct selector selector;
    struct selection selection;
    uint64_t list; /* of its cursors */
    bool begun;    /* the request was read */
    bool more;     /* slices follow */
    size_t limit;
    size_t count; /* children that are written */
    bool full;    /* there are more, from `child` on */
    struct kx_slice prefixes[KX_GRANTS_MAX]; /* that the caller may list */
    size_t prefix_count;
    bool partial;           /* only these; else all of the range */
    struct kx_buffer next;  /* where the walk continues; empty: at the start */
    struct kx_buffer bound; /* of the range of one prefix */
    struct kx_tree walk;
    struct kx_buffer child; /* the last child: if it is found in several ranges,
                             * its count is their sum */
    struct kx_buffer shown; /* the child as requests give it: an index turns
                             * values over */
    struct kx_estimate below;
    bool entry;
    bool known;
    uint64_t flush; /* the last one that a slice depends on */
};

static const unsigned SELECTION = TAKES_PREFIX | TAKES_START | TAKES_END |
                                  TAKES_LIMIT | TAKES_CURSOR | TAKES_INDEX |
                                  TAKES_CONSISTENCY;

/* The cursor of a list is not one of a tree. */
static uint64_t list_of(const struct selector *selector)
{
    return ~cursor_list(selector->index, &selector->range);
}

static bool resume(struct tree_page *page, const struct query_params *query,
                   struct input_error *error)
{
    struct kx_buffer cursor;
    kx_buffer_init(&cursor, page->next.owner);
    page->list = list_of(&page->selector);
    if (!query_params_has(query, PARAMETER_CURSOR))
        return true;
    return query_params_text(query, PARAMETER_CURSOR, &cursor, error) &&
           selector_continue(&page->selector, kx_buffer_slice(&cursor),
                             page->list, &page->next, error);
}

static struct tree_page *page_create(void *memory)
{
    struct tree_page *page = talloc_zero(memory, struct tree_page);
    if (page == NULL)
        return NULL;
    selection_init(&page->selection, memory);
    kx_tree_init(&page->walk, memory);
    kx_buffer_init(&page->next, memory);
    kx_buffer_init(&page->bound, memory);
    kx_buffer_init(&page->child, memory);
    kx_buffer_init(&page->shown, memory);
    page->limit = PAGE_LIMIT_DEFAULT;
    return page;
}

static bool read_page(struct request *request, struct tree_page *page,
                      struct input_error *error)
{
    struct query_params query;
    return query_params_read(request->query, SELECTION, request->memory, &query,
                             error) &&
           selection_read(&query, &page->selection, error) &&
           selection_fold(&page->selection, request, error) &&
           query_params_limit(&query, &page->limit, error) &&
           selector_make(&page->selection, request->memory, &page->selector,
                         error) &&
           resume(page, &query, error);
}

/* ---- Children ----------------------------------------------------------- */

static void write_child(struct tree_page *page, struct kx_buffer *out)
{
    char text[80];
    kx_add_text(out, page->count > 0 ? ",{\"key\":" : "{\"key\":");
    kx_key_to_json(kx_buffer_slice(&page->shown), out);
    snprintf(text, sizeof text, "%llu", (unsigned long long)page->below.rows);
    kx_add_text(out, page->entry ? ",\"entry\":true,\"below\":"
                                 : ",\"entry\":false,\"below\":");
    kx_add_text(out, page->known ? text : "null");
    kx_add_text(out,
                page->below.exact ? ",\"exact\":true}" : ",\"exact\":false}");
    page->count++;
}

static void set_buffer(struct kx_buffer *buffer, const struct kx_buffer *from)
{
    buffer->size = 0;
    kx_add_slice(buffer, kx_buffer_slice(from));
}

static void show_child(struct tree_page *page, struct kx_reader *reader)
{
    enum kx_status status = KX_INDEX_ABSENT;
    if (page->selector.indexed)
        status = kx_index_values(reader, page->selector.index,
                                 kx_buffer_slice(&page->child), &page->shown);
    if (status == KX_INDEX_ABSENT)
        set_buffer(&page->shown, &page->child);
    page->child.failed |= page->shown.failed;
}

/* A child is complete when the next one is found. */
static void take_child(struct tree_page *page, struct kx_reader *reader,
                       struct kx_buffer *out)
{
    const struct kx_tree *walk = &page->walk;
    if (kx_equal(kx_buffer_slice(&page->child),
                 kx_buffer_slice(&walk->child))) {
        page->entry |= walk->entry;
        page->known &= walk->known;
        page->below.exact &= walk->below.exact;
        page->below.rows += walk->below.rows;
        return;
    }
    if (page->child.size > 0)
        write_child(page, out);
    page->full = page->count == page->limit || out->size > PAGE_BYTES_MAX;
    set_buffer(&page->child, &walk->child);
    show_child(page, reader);
    page->entry = walk->entry;
    page->known = walk->known;
    page->below = walk->below;
}

/* ---- Walking ------------------------------------------------------------ */

static struct kx_slice later(struct kx_slice a, struct kx_slice b)
{
    return kx_compare(a, b) > 0 ? a : b;
}

/* KX_END: all children of the range were found. KX_AGAIN: the slice is full.
 * KX_OK: the page is. */
static enum kx_status walk_range(struct tree_page *page,
                                 struct kx_reader *reader, unsigned *left,
                                 struct kx_buffer *out, struct kx_fault *fault)
{
    struct kx_tree *walk = &page->walk;
    walk->index = page->selector.index;
    walk->prefix_size = page->selection.prefix.size;
    walk->held = walk->ended = false;
    walk->next.size = 0;
    for (; *left > 0; --*left) {
        enum kx_status status = kx_tree_next(reader, walk, fault);
        if (status == KX_OK || status == KX_AGAIN)
            set_buffer(&page->next, &walk->next);
        if (status != KX_OK)
            return status;
        take_child(page, reader, out);
        if (page->full)
            return KX_OK;
    }
    return KX_AGAIN;
}

/* The part of the page's range that begins with the prefix. */
static void narrow(struct tree_page *page, struct kx_slice prefix)
{
    struct kx_slice end;
    page->bound.size = 0;
    kx_add_slice(&page->bound, prefix);
    kx_add_byte(&page->bound, 0xff);
    end = kx_buffer_slice(&page->bound);
    page->walk.start = later(page->selector.range.start, prefix);
    page->walk.end = page->selector.range.end;
    if (kx_compare(end, page->walk.end) < 0)
        page->walk.end = end;
}

/* Makes one slice of the reply, from all ranges that the caller may list. */
static enum kx_status walk(struct request *request, struct tree_page *page,
                           struct kx_buffer *out, struct kx_fault *fault)
{
    unsigned left = SLICE_CHILDREN;
    enum kx_status status = KX_END;
    size_t ranges = page->partial ? page->prefix_count : 1;
    kx_read_begin(request->reader);
    for (size_t i = 0; status == KX_END && i < ranges; i++) {
        page->walk.start = page->selector.range.start;
        page->walk.end = page->selector.range.end;
        if (page->partial)
            narrow(page, page->prefixes[i]);
        page->walk.start =
            later(page->walk.start, kx_buffer_slice(&page->next));
        status = walk_range(page, request->reader, &left, out, fault);
    }
    uint64_t flush = kx_read_end(request->reader);
    if (flush > page->flush)
        page->flush = flush;
    if (page->bound.failed || page->next.failed || page->child.failed)
        return KX_NO_MEMORY;
    return status;
}

/* ---- Answering ---------------------------------------------------------- */

static void finish(struct tree_page *page, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    if (page->child.size > 0 && !page->full)
        write_child(page, out);
    answer_json(reply, 200);
    reply->flush = page->flush;
    if (page->full) {
        kx_add_text(out, "],\"cursor\":\"");
        cursor_write(page->list, kx_buffer_slice(&page->child), out);
        kx_add_text(out, "\"}");
    } else
        kx_add_text(out, "],\"cursor\":null}");
}

/* True if the caller has rights on only some prefixes in the range. Prefixes of
 * an index whose entries the caller may not list are left out. */
static bool find_prefixes(const struct request *request, struct tree_page *page)
{
    struct kx_slice prefix = kx_buffer_slice(&page->selection.prefix);
    struct kx_slice *prefixes = page->prefixes;
    page->prefix_count = 0;
    if (page->selector.indexed ||
        selector_visible(request, SCOPE_LIST, &page->selector))
        return false;
    size_t count = access_below(request, SCOPE_LIST, prefix, prefixes);
    for (size_t i = 0; i < count; i++)
        if (access_sees(request, SCOPE_LIST, prefixes[i]))
            prefixes[page->prefix_count++] = prefixes[i];
    return count > 0;
}

/* Rights are checked for each slice: since the last one an index may have been
 * declared or dropped. */
static void next_or_answer(struct request *request, struct reply *reply,
                           struct tree_page *page)
{
    struct kx_fault fault = {0};
    page->partial = find_prefixes(request, page);
    if (page->partial)
        access_asked(request);
    else if (!selector_allowed(request, reply, SCOPE_LIST, &page->selector))
        return;
    fault.status = walk(request, page, &reply->body, &fault);
    page->more = fault.status == KX_AGAIN;
    if (page->more)
        return;
    if (fault.status == KX_OK || fault.status == KX_END)
        finish(page, reply);
    else
        refuse_scan(request, reply, &fault, &page->selector);
}

static void tree_section(struct request *request, struct reply *reply,
                         void *arg)
{
    struct tree_page *page = arg;
    struct input_error error;
    page->more = false;
    if (!page->begun && !read_page(request, page, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!page->begun)
        kx_add_text(&reply->body, "{\"children\":[");
    page->begun = true;
    next_or_answer(request, reply, page);
}

void tree_get(struct request *request, struct reply *reply)
{
    struct tree_page *page = page_create(request->memory);
    reply->body.failed = page == NULL;
    while (page != NULL && request_read(request, tree_section, page) &&
           page->more && request_turn(request))
        ;
}
