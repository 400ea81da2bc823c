/* POST /get: many keys and ranges in one consistent view. The document is
 * parsed first, without a view: {"keys":[[...],...],"ranges":[{"prefix":[...],
 * "limit":10},...]}. Then all entries are read between one kx_read_begin and
 * kx_read_end. Commits wait meanwhile, so the number of entries and their bytes
 * are limited. A large answer is written after the view, in turns
 * (entry_writer.h). */
#include <talloc.h>

#include "access/access.h"
#include "entries/entry_handlers.h"
#include "entries/expand.h"
#include "entries/page.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/document.h"
#include "rest/refusal.h"
#include "rest/entryjson.h"
#include "rest/key_text.h"

/* ---- A range of the document -------------------------------------------- */

/* A range has the members that GET /list has as parameters, and uses the same
 * selection and page. */
struct get_many_range {
    struct page page;
    struct selection selection;
    struct kx_buffer cursor;
};

struct get_many_input {
    const struct request *request;
    void *memory; /* talloc context of all that is made */
    struct kx_slice *keys;
    size_t key_count;
    struct shape shape; /* of the entries at `keys` */
    struct get_many_range *ranges;
    size_t range_count;
    struct input_error error;    /* set unless `good` */
    bool good;                   /* the document is valid */
    struct entry_writer *writer; /* of the reply; NULL: reading failed */
    size_t total; /* entries at most: keys, and limits of ranges */
};

/* The target of RANGE_MEMBERS. */
struct range_reading {
    struct range_target target; /* must be first */
    struct get_many_range *range;
    void *memory;
};

static bool range_keys(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct range_reading *reading = target;
    return document_flag(value, &reading->range->page.shape.keys_only, error);
}

static bool range_fields(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return projection_read_array(value, reading->memory,
                                 &reading->range->page.shape.fields, error);
}

static bool range_limit(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct range_reading *reading = target;
    return document_whole(value, KX_PAGE_MAX, &reading->range->page.limit,
                          error);
}

static bool range_cursor(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct range_reading *reading = target;
    return document_text(value, &reading->range->cursor, error);
}

static const struct member RANGE_MEMBERS[] = {
    {"prefix", range_member_prefix},
    {"start", range_member_start},
    {"end", range_member_end},
    {"reverse", range_member_reverse},
    {"limit", range_limit},
    {"cursor", range_cursor},
    {"keys", range_keys},
    {"index", range_member_index},
    {"fields", range_fields},
    {NULL, NULL},
};

static bool read_range(struct get_many_input *input, struct kx_slice value,
                       struct get_many_range *range, struct input_error *error)
{
    struct range_reading reading = {
        .target = {&range->selection}, .range = range, .memory = input->memory};
    selection_init(&range->selection, input->memory);
    kx_buffer_init(&range->cursor, input->memory);
    range->page.limit = PAGE_LIMIT_DEFAULT;
    if (!document_read(value, RANGE_MEMBERS, &reading, error))
        return false;
    input->total += range->page.limit;
    return true;
}

/* The page keeps slices of the selection. */
static bool select_range(struct get_many_range *range,
                         const struct request *request, void *memory,
                         struct input_error *error)
{
    if (selection_fold(&range->selection, request, error) &&
        page_begin(&range->page, &range->selection,
                   kx_buffer_slice(&range->cursor), memory, error))
        return true;
    /* The error is about a member of the body, not a parameter. */
    if (error->code == PROBLEM_BAD_PARAMETER)
        error->code = PROBLEM_BAD_REQUEST;
    error->parameter = kx_slice(NULL, 0);
    return false;
}

/* Makes the pages of the ranges, in a view that is not begun. False with the
 * error. */
static bool get_many_select(struct get_many_input *input,
                            const struct request *request,
                            struct input_error *error)
{
    for (size_t i = 0; i < input->range_count; i++) {
        input->ranges[i].page.shape.expansion = input->shape.expansion;
        if (!select_range(&input->ranges[i], request, input->memory, error)) {
            input_error_in_element(error, i);
            return input_error_in_member(error, "ranges");
        }
    }
    return true;
}

/* ---- The document ------------------------------------------------------- */

static bool too_many(struct input_error *error)
{
    return input_error_set(
        error, PROBLEM_BAD_REQUEST,
        "A request may ask for at most %d entries, counting each key and the "
        "limit of each range, and for each expanded reference; the default "
        "limit of a range is %d.",
        KX_PAGE_MAX, PAGE_LIMIT_DEFAULT);
}

static bool take_key(struct get_many_input *input, struct kx_slice value,
                     struct input_error *error)
{
    input->total++;
    return key_text_entry_from_json(value, input->memory,
                                    &input->keys[input->key_count++], error);
}

static bool take_range(struct get_many_input *input, struct kx_slice value,
                       struct input_error *error)
{
    return read_range(input, value, &input->ranges[input->range_count++],
                      error);
}

static bool take_each(struct get_many_input *input, struct kx_slice array,
                      bool (*take)(struct get_many_input *input,
                                   struct kx_slice value,
                                   struct input_error *error),
                      struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++)
        if (!take(input, value, error))
            return input_error_in_element(error, i);
    return true;
}

/* Counts the elements before anything is allocated for them. */
static bool count_elements(struct kx_slice array, size_t *count_out,
                           struct input_error *error)
{
    return document_count(array, count_out, error) &&
           (*count_out <= KX_PAGE_MAX || too_many(error));
}

static bool read_keys(void *target, struct kx_slice array,
                      struct input_error *error)
{
    struct get_many_input *input = target;
    size_t count;
    if (!count_elements(array, &count, error))
        return false;
    input->keys = talloc_array(input->memory, struct kx_slice, count);
    return input->keys == NULL ? input_error_no_memory(error)
                               : take_each(input, array, take_key, error);
}

static bool read_ranges(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct get_many_input *input = target;
    size_t count;
    if (!count_elements(array, &count, error))
        return false;
    input->ranges =
        talloc_zero_array(input->memory, struct get_many_range, count);
    return input->ranges == NULL ? input_error_no_memory(error)
                                 : take_each(input, array, take_range, error);
}

static bool read_fields(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct get_many_input *input = target;
    return projection_read_array(array, input->memory, &input->shape.fields,
                                 error);
}

static bool read_expand(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct get_many_input *input = target;
    return expand_read_array(input->request, array, &input->shape.expansion,
                             error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"keys", read_keys},
    {"ranges", read_ranges},
    {"fields", read_fields},
    {"expand", read_expand},
    {NULL, NULL},
};

/* Reads the document, which kx_json_check accepted, into *input_out, whose
 * member `memory` is set. False with the error. */
static bool get_many_read(struct kx_slice document,
                          struct get_many_input *input_out,
                          struct input_error *error)
{
    *input_out = (struct get_many_input){.request = input_out->request,
                                         .memory = input_out->memory};
    if (!document_read(document, DOCUMENT_MEMBERS, input_out, error))
        return false;
    return expand_limit(input_out->shape.expansion, KX_PAGE_MAX) >=
               input_out->total ||
           too_many(error);
}

/* Limits the bytes of the reply and, since `fields` may show few of them, of
 * the entries read. Clients split larger requests. */
enum { REPLY_BYTES_MAX = 16 << 20 };

/* The state of reading. If `fault` stops it, `index` is the index concerned. */
struct get_many {
    struct request *request;
    const struct get_many_input *input;
    struct entry_writer *writer;
    struct kx_buffer record;
    struct kx_fault fault;
    struct kx_buffer index;
    bool too_large;
};

/* A key without an entry keeps its place in the list, as an entry whose value
 * and versionstamp are null. */
static enum kx_status add_key(struct get_many *batch, struct kx_slice key)
{
    struct kx_entry entry;
    enum kx_status status = kx_read(batch->request->reader, key, &batch->record,
                                    &entry, &batch->fault);
    if (status == KX_OK)
        entry_writer_add(batch->writer, &entry, &batch->input->shape);
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

/* Returns false at the first failure. A key of an index that is being built is
 * a failure, since an incomplete answer would look complete. */
static bool add_keys(struct get_many *batch)
{
    const struct get_many_input *input = batch->input;
    kx_read_prefetch(batch->request->reader, input->keys, input->key_count);
    for (size_t i = 0; i < input->key_count; i++) {
        if (i > 0)
            kx_add_byte(batch->writer->out, ',');
        batch->fault.status = add_key(batch, input->keys[i]);
        batch->too_large = is_too_large(batch);
        if (batch->fault.status != KX_OK)
            kx_key_index_name(input->keys[i], &batch->index);
        if (batch->fault.status != KX_OK || batch->too_large)
            return false;
    }
    return true;
}

/* A page that found no entry in its time is complete; its cursor continues. */
static bool add_pages(struct get_many *batch)
{
    for (size_t i = 0; i < batch->input->range_count; i++) {
        struct page *page = &batch->input->ranges[i].page;
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

/* A refusal looks up the index in its own view, so it is made after this view
 * has ended. It replaces the content of the reply. */
static void read_batch(struct request *request, struct reply *reply,
                       struct get_many_input *input)
{
    struct get_many batch = {.request = request, .input = input};
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
        input->writer = batch.writer;
    else if (batch.too_large)
        refuse_size(request, reply);
    else
        refuse_read(request, reply, &batch.fault,
                    kx_buffer_slice(&batch.index));
}

static bool may_read(struct request *request, struct reply *reply,
                     const struct get_many_input *input)
{
    access_asked(request);
    if (!access_keys(request, reply, SCOPE_READ, input->keys, input->key_count))
        return false;
    for (size_t i = 0; i < input->range_count; i++)
        if (!selector_allowed(request, reply, SCOPE_LIST,
                              &input->ranges[i].page.selector))
            return false;
    return true;
}

static void read_document(struct request *request, void *arg)
{
    struct get_many_input *input = arg;
    input->good = query_params_read_only(request, &input->error) &&
                  body_json(request, &input->error) &&
                  get_many_read(request->body, input, &input->error);
}

static void read_all(struct request *request, struct reply *reply, void *arg)
{
    struct get_many_input *input = arg;
    if (!get_many_select(input, request, &input->error))
        input_error_reply(request, reply, &input->error);
    else if (may_read(request, reply, input))
        read_batch(request, reply, input);
}

/* Writes the kept entries, a slice in each turn. Only the written text shows
 * its size. */
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
    struct get_many_input *input =
        talloc_zero(request->memory, struct get_many_input);
    if (input == NULL) {
        reply->body.failed = true;
        return;
    }
    input->request = request;
    input->memory = request->memory;
    if (!request_work(request, read_document, input))
        return;
    if (!input->good) {
        input_error_reply(request, reply, &input->error);
        return;
    }
    if (request_read(request, read_all, input) && input->writer != NULL)
        write_kept(request, reply, input->writer);
}
