/* POST /get: many keys and ranges in one consistent view. The document is read
 * first (get_many_read.h); then everything is read between one kx_read_begin
 * and its end, which is what makes the view one, and what is much of it is
 * written after that, in turns (entry_writer.h). Commits wait while it is read,
 * so the number of entries is bounded by the reader of the document and their
 * bytes are bounded here. */
#include "entries/get_many_read.h"

#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/entryjson.h"
#include "entries/entry_handlers.h"
#include "rest/core_refusal.h"

/* Bytes of a reply, and of the entries that it is made of, of which `fields`
 * may show little: beyond, the request has to be split. */
enum { REPLY_BYTES_MAX = 16 << 20 };

/* A batch while it is read, and what stopped it: a fault, and the index it is
 * about. */
struct get_many {
    struct request *request;
    const struct get_many_read *targets;
    struct entry_writer *writer;
    struct kx_buffer record;
    struct kx_fault fault;
    struct kx_buffer index;
    bool too_large;
};

/* A missing key keeps its place in the list: an entry whose value and
 * versionstamp are null. */
static enum kx_status add_key(struct get_many *batch, struct kx_slice key)
{
    struct kx_entry entry;
    enum kx_status status = kx_read(batch->request->reader, key, &batch->record,
                                    &entry, &batch->fault);
    if (status == KX_OK)
        entry_writer_add(batch->writer, &entry, &batch->targets->shape);
    else if (status == KX_ABSENT)
        entryjson_write_absent(key, batch->writer->out);
    else
        return status;
    return KX_OK;
}

static bool is_too_large(const struct get_many *batch)
{
    return entry_writer_size(batch->writer) > REPLY_BYTES_MAX ||
           kx_read_bytes(batch->request->reader) > REPLY_BYTES_MAX;
}

/* False with what stopped it. A key under an index that is being built stops
 * the batch: half an answer would look like a whole one. */
static bool add_keys(struct get_many *batch)
{
    const struct get_many_read *targets = batch->targets;
    kx_read_ahead(batch->request->reader, targets->keys, targets->key_count);
    for (size_t i = 0; i < targets->key_count; i++) {
        if (i > 0)
            kx_add_byte(batch->writer->out, ',');
        batch->fault.status = add_key(batch, targets->keys[i]);
        batch->too_large = is_too_large(batch);
        if (batch->fault.status != KX_OK)
            kx_key_index_name(targets->keys[i], &batch->index);
        if (batch->fault.status != KX_OK || batch->too_large)
            return false;
    }
    return true;
}

/* A page that found nothing so far is complete: its cursor continues. */
static bool add_pages(struct get_many *batch)
{
    for (size_t i = 0; i < batch->targets->range_count; i++) {
        struct page *page = &batch->targets->ranges[i].page;
        kx_add_text(batch->writer->out, i > 0 ? ",{" : "{");
        batch->fault.status = page_write(page, batch->request->reader,
                                         batch->writer, &batch->fault);
        if (batch->fault.status == KX_AGAIN)
            batch->fault.status = KX_OK;
        kx_add_text(batch->writer->out,
                    page->more ? ",\"more\":true}" : ",\"more\":false}");
        batch->too_large = is_too_large(batch);
        if (batch->fault.status != KX_OK)
            kx_add_slice(&batch->index, page->selector.index);
        if (batch->fault.status != KX_OK || batch->too_large)
            return false;
    }
    return true;
}

static bool add_all(struct get_many *batch)
{
    kx_add_text(batch->writer->out, "{\"entries\":[");
    if (!add_keys(batch))
        return false;
    kx_add_text(batch->writer->out, "],\"ranges\":[");
    if (!add_pages(batch))
        return false;
    kx_add_text(batch->writer->out, "]}");
    return true;
}

static void refuse_size(struct request *request, struct reply *reply)
{
    problem(request, reply, PROBLEM_PAYLOAD_TOO_LARGE,
            "The entries asked for have more than %d bytes.", REPLY_BYTES_MAX);
    problem_member_number(reply, "limit", REPLY_BYTES_MAX);
}

/* The refusal is made after the view has ended, because it looks up the index
 * in a view of its own; it replaces what the reply held by then. */
static void read_batch(struct request *request, struct reply *reply,
                       struct get_many_read *targets)
{
    struct get_many batch = {.request = request, .targets = targets};
    batch.writer = talloc(request->memory, struct entry_writer);
    if (batch.writer == NULL) {
        reply->body.failed = true;
        return;
    }
    entry_writer_init(batch.writer, &reply->body, request->memory);
    kx_buffer_init(&batch.record, request->memory);
    kx_buffer_init(&batch.index, request->memory);
    kx_read_begin(request->reader);
    bool done = add_all(&batch);
    reply->flush = kx_read_end(request->reader);
    kx_buffer_free(&batch.record);
    if (done)
        targets->writer = batch.writer;
    else if (batch.too_large)
        refuse_size(request, reply);
    else
        core_refusal_read(request, reply, &batch.fault,
                          kx_buffer_slice(&batch.index));
}

/* Before any of it is read. */
static bool may_read(struct request *request, struct reply *reply,
                     const struct get_many_read *targets)
{
    access_asked(request);
    if (!access_keys(request, reply, SCOPE_READ, targets->keys,
                     targets->key_count))
        return false;
    for (size_t i = 0; i < targets->range_count; i++)
        if (!selector_allowed(request, reply, SCOPE_LIST,
                              &targets->ranges[i].page.selector))
            return false;
    return true;
}

static void read_document(struct request *request, void *arg)
{
    struct get_many_read *targets = arg;
    targets->good = query_params_read_only(request, &targets->error) &&
                    body_json(request, &targets->error) &&
                    get_many_read(request->body, targets, &targets->error);
}

static void read_all(struct request *request, struct reply *reply, void *arg)
{
    struct get_many_read *targets = arg;
    if (!get_many_select(targets, request, &targets->error))
        input_error_reply(request, reply, &targets->error);
    else if (may_read(request, reply, targets))
        read_batch(request, reply, targets);
}

/* Writes the slices of what was kept, each in its turn. Only then it shows how
 * long the text of a value is. */
static void write_kept(struct request *request, struct reply *reply,
                       struct entry_writer *writer)
{
    bool done = STAILQ_EMPTY(&writer->kept);
    while (done || request_turn(request)) {
        done = entry_writer_continue(writer);
        if (reply->body.size > REPLY_BYTES_MAX) {
            refuse_size(request, reply);
            return;
        }
        if (done) {
            answer_json(reply, 200);
            return;
        }
    }
}

void get_many(struct request *request, struct reply *reply)
{
    struct get_many_read *targets =
        talloc_zero(request->memory, struct get_many_read);
    if (targets == NULL) {
        reply->body.failed = true;
        return;
    }
    targets->memory = request->memory;
    if (!request_work(request, read_document, targets))
        return;
    if (!targets->good) {
        input_error_reply(request, reply, &targets->error);
        return;
    }
    if (request_read(request, read_all, targets) && targets->writer != NULL)
        write_kept(request, reply, targets->writer);
}
