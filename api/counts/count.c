/* GET /count: the number of entries of a range: the total that an index holds,
 * or counted in slices so that a long count does not delay commits, or
 * estimated. */
#include "counts/count_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "kindex/aggregate.h"
#include "rest/answer.h"
#include "rest/refusal.h"
#include "rest/selector.h"

/* Entries counted in one view: few, because commits wait until it ends. */
enum { SLICE_ENTRIES = 2000 };

/* Lives in the request's memory from the first slice to the last. Every slice
 * is another view, so a count that meets commits on its way belongs to no
 * one moment. */
struct count {
    struct selector selector;
    struct selection selection;
    struct kx_buffer bound;
    struct kx_buffer position;
    uint64_t entries;
    bool begun;          /* the request was read */
    bool more;           /* slices follow */
    bool index_searched; /* looked for an index that stores the number */
    bool estimate;  /* after the first slice the remaining entries are estimated
                     */
    uint64_t flush; /* number of the last flush that a slice depends on */
};

static struct count *count_create(void *memory)
{
    struct count *count = talloc_zero(memory, struct count);
    if (count == NULL)
        return NULL;
    selection_init(&count->selection, memory);
    kx_buffer_init(&count->bound, memory);
    kx_buffer_init(&count->position, memory);
    return count;
}

/* Only their number is needed: the rows of an index are counted without reading
 * their entries. */
static bool read_count(struct request *request, struct count *count,
                       struct input_error *error)
{
    const unsigned allowed = TAKES_PREFIX | TAKES_START | TAKES_END |
                             TAKES_INDEX | TAKES_ESTIMATE | TAKES_CONSISTENCY;
    struct query_params query;
    if (!query_params_read(request->query, allowed, request->memory, &query,
                           error) ||
        !selection_read(&query, &count->selection, error) ||
        !selection_fold(&count->selection, request, error) ||
        !query_params_flag(&query, PARAMETER_ESTIMATE, &count->estimate,
                           error) ||
        !selector_make(&count->selection, request->memory, &count->selector,
                       error))
        return false;
    count->selector.range.count_only = true;
    count->selector.range.yields = true;
    return true;
}

/* KX_OK: a slice is counted, and there may be more, after `position`. KX_END:
 * all are counted. */
static enum kx_status count_slice(struct kx_reader *reader, struct count *count)
{
    struct kx_entry entry;
    for (unsigned i = 0; i < SLICE_ENTRIES; i++) {
        enum kx_status status = kx_scan_next(reader, &entry);
        if (status == KX_AGAIN)
            break;
        if (status != KX_OK)
            return status;
        count->entries++;
    }
    count->position.size = 0;
    kx_add_slice(&count->position, kx_scan_position(reader));
    return count->position.failed ? KX_NO_MEMORY : KX_OK;
}

/* KX_END: an index holds the number, so nothing is left to be counted. */
static enum kx_status find_held(struct kx_reader *reader, struct count *count)
{
    struct kx_slice index;
    if (count->index_searched || count->selector.indexed)
        return KX_OK;
    count->index_searched = true;
    enum kx_status status =
        kx_count_held(reader, &count->selector.range, &index, &count->entries);
    if (status == KX_OK)
        return KX_END;
    return status == KX_ABSENT ? KX_OK : status;
}

/* Opens a view, counts, and narrows the range to what is left. Flush numbers
 * only grow, so keeping the last one covers all slices. */
static enum kx_status next_slice(struct kx_reader *reader, struct count *count,
                                 struct kx_fault *fault)
{
    kx_read_begin(reader);
    enum kx_status status = find_held(reader, count);
    if (status == KX_OK)
        status = selector_scan(&count->selector, reader, fault);
    if (status == KX_OK) {
        status = count_slice(reader, count);
        kx_scan_end(reader);
    }
    uint64_t flush = kx_read_end(reader);
    if (flush != 0)
        count->flush = flush;
    if (status == KX_OK &&
        !selector_resume(&count->selector, kx_buffer_slice(&count->position),
                         &count->bound))
        status = KX_NO_MEMORY;
    return status;
}

/* The whole range, of which the first slice is counted. */
static enum kx_status estimate(struct kx_reader *reader, struct count *count,
                               struct kx_fault *fault)
{
    struct kx_estimate estimate = {.most = KX_PAGE_MAX};
    kx_read_begin(reader);
    enum kx_status status =
        kx_estimate(reader, count->selector.index, &count->selector.range,
                    &estimate, fault);
    kx_read_end(reader);
    if (status == KX_OK && estimate.rows > count->entries)
        count->entries = estimate.rows;
    return status;
}

static void answer(struct reply *reply, const struct count *count,
                   const char *exact)
{
    char text[64];
    answer_json(reply, 200);
    reply->flush = count->flush;
    snprintf(text, sizeof text, "{\"count\":%llu%s}",
             (unsigned long long)count->entries, exact);
    kx_add_text(&reply->body, text);
}

static void next_or_answer(struct request *request, struct reply *reply,
                           struct count *count)
{
    struct kx_fault fault = {0};
    fault.status = next_slice(request->reader, count, &fault);
    count->more = fault.status == KX_OK && !count->estimate;
    if (count->more)
        return;
    if (fault.status == KX_END) {
        answer(reply, count, count->estimate ? ",\"exact\":true" : "");
        return;
    }
    if (fault.status == KX_OK)
        fault.status = estimate(request->reader, count, &fault);
    if (fault.status == KX_OK)
        answer(reply, count, ",\"exact\":false");
    else
        refuse_scan(request, reply, &fault, &count->selector);
}

static void count_section(struct request *request, struct reply *reply,
                          void *arg)
{
    struct count *count = arg;
    struct input_error error;
    count->more = false;
    if (!count->begun && !read_count(request, count, &error))
        input_error_reply(request, reply, &error);
    else if (selector_allowed(request, reply, SCOPE_LIST, &count->selector))
        next_or_answer(request, reply, count);
    count->begun = true;
}

/* Others have their turn between two slices. */
void list_count(struct request *request, struct reply *reply)
{
    struct count *count = count_create(request->memory);
    reply->body.failed = count == NULL;
    while (count != NULL && request_read(request, count_section, count) &&
           count->more && request_turn(request))
        ;
}
