/* POST .../snapshot_read: some ranges in one view. Most requests are for one
 * key, asked for as a range with room for nothing else (Deno) or as the first
 * entry from the key on (@deno/kv); both are a look-up. */
#include "handlers.h"

#include "datapath.pb-c.h"
#include "kvconnect.h"
#include "message.h"
#include "refusal.h"

enum { OUTPUT_RANGES = 1, OUTPUT_STRONG = 4, OUTPUT_STATUS = 8 };
enum { RANGE_VALUES = 1 };

/* What stopped a read, and the index it is about. */
struct stop {
    struct kx_fault fault;
    struct kx_slice start; /* of the range */
    bool too_large;
};

/* No key lies between this one and the end. */
static bool is_one_key(const struct kx_range *range)
{
    return range->end.size == range->start.size + 1 &&
           range->end.data[range->start.size] == 0 &&
           kx_starts_with(range->end, range->start);
}

static enum kx_status read_rows(struct request *request,
                                const struct kx_range *range, size_t limit,
                                struct kx_buffer *out, struct stop *stop)
{
    struct kx_entry entry;
    enum kx_status status = kx_scan(request->reader, range, &stop->fault);
    if (status != KX_OK)
        return status;
    while (status == KX_OK && limit-- > 0 && !stop->too_large) {
        status = kx_scan_next(request->reader, &entry);
        if (status == KX_OK)
            kvconnect_entry(RANGE_VALUES, &entry, out);
        stop->too_large = out->size > KVCONNECT_REPLY_MAX;
    }
    kx_scan_end(request->reader);
    return status == KX_END ? KX_OK : status;
}

/* The entry under the start, if there is one, is the first of the range. */
static enum kx_status read_first(struct request *request,
                                 const struct kx_range *range,
                                 struct kx_buffer *out, struct stop *stop)
{
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, request->memory);
    enum kx_status status =
        kx_read(request->reader, range->start, &record, &entry, &stop->fault);
    if (status == KX_OK)
        kvconnect_entry(RANGE_VALUES, &entry, out);
    else if (status == KX_ABSENT && is_one_key(range))
        status = KX_OK;
    else if (status == KX_ABSENT)
        status = read_rows(request, range, 1, out, stop);
    return status;
}

/* An empty range is an answer as well: its place is kept. */
static enum kx_status read_range(struct request *request,
                                 const Datapath__ReadRange *message,
                                 struct kx_buffer *out, struct stop *stop)
{
    struct kx_range range = {.start = message_slice(message->start),
                             .end = message_slice(message->end),
                             .reverse = message->reverse};
    size_t place = message_open(OUTPUT_RANGES, out);
    enum kx_status status = KX_OK;
    stop->start = range.start;
    if (kx_compare(range.start, range.end) < 0)
        status =
            message->limit == 1 && !range.reverse
                ? read_first(request, &range, out, stop)
                : read_rows(request, &range, (size_t)message->limit, out, stop);
    message_close(place, out);
    return status;
}

/* ---- The request ----------------------------------------------------------
 */

static bool check_bound(const char *name, size_t size, struct flaw *flaw)
{
    return size <= KX_KEY_BOUND_MAX ||
           flaw_set(flaw, PROBLEM_KEY_TOO_LONG,
                    "The %s of a range has %zu bytes; the limit is %d.", name,
                    size, KX_KEY_BOUND_MAX);
}

static bool check_ranges(const Datapath__SnapshotRead *read, struct flaw *flaw)
{
    int64_t rows = 0;
    if (read->n_ranges > KVCONNECT_RANGES_MAX)
        return flaw_set(flaw, PROBLEM_BAD_REQUEST,
                        "There are %zu ranges; the limit is %d.",
                        read->n_ranges, KVCONNECT_RANGES_MAX);
    for (size_t i = 0; i < read->n_ranges; i++) {
        const Datapath__ReadRange *range = read->ranges[i];
        if (range->limit < 1)
            return flaw_set(flaw, PROBLEM_BAD_REQUEST,
                            "The limit of a range is %d; it must be at least "
                            "1.",
                            range->limit);
        if (!check_bound("start", range->start.len, flaw) ||
            !check_bound("end", range->end.len, flaw))
            return false;
        rows += range->limit;
    }
    return rows <= KVCONNECT_ROWS_MAX ||
           flaw_set(flaw, PROBLEM_BAD_REQUEST,
                    "The limits of the ranges add up to %lld entries; the "
                    "limit is %d.",
                    (long long)rows, KVCONNECT_ROWS_MAX);
}

/* The refusal is made after the view has ended, because it looks up the index
 * in a view of its own. */
static enum progress refuse(struct request *request, struct reply *reply,
                            const struct stop *stop)
{
    struct kx_buffer index;
    if (stop->too_large)
        return problem(request, reply, PROBLEM_PAYLOAD_TOO_LARGE,
                       "The entries asked for have more than %d bytes; ask "
                       "for fewer at a time.",
                       KVCONNECT_REPLY_MAX);
    kx_buffer_init(&index, request->memory);
    refusal_index_of(stop->start, &index);
    return refusal_read(request, reply, &stop->fault, kx_buffer_slice(&index));
}

enum progress kvconnect_read(struct request *request, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    struct stop stop;
    struct flaw flaw;
    if (!kvconnect_admit(request, &flaw))
        return flaw_reply(request, reply, &flaw);
    const Datapath__SnapshotRead *read =
        message_read(request, &datapath__snapshot_read__descriptor, &flaw);
    if (read == NULL || !check_ranges(read, &flaw))
        return flaw_reply(request, reply, &flaw);
    stop.fault.detail[0] = stop.fault.pointer[0] = '\0';
    stop.fault.status = KX_OK;
    stop.too_large = false;
    kx_read_begin(request->reader);
    for (size_t i = 0; i < read->n_ranges && stop.fault.status == KX_OK; i++)
        stop.fault.status = read_range(request, read->ranges[i], out, &stop);
    reply->flush = kx_read_end(request->reader);
    if (stop.fault.status != KX_OK || stop.too_large)
        return refuse(request, reply, &stop);
    message_number(OUTPUT_STRONG, true, out);
    message_number(OUTPUT_STATUS, DATAPATH__SNAPSHOT_READ_STATUS__SR_SUCCESS,
                   out);
    return kvconnect_answer(reply);
}
