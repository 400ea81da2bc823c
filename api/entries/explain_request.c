/* A match as a request. Keys are written as paths, which people can read; one
 * that could be taken for another in a query is written as JSON. */
#include "entries/explain_request.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "http/percent.h"

/* Both bounds, or the prefix with one of them, or it alone. Bounds that
 * contradict each other select nothing. */
static void select_match(const struct kx_index_match *match, size_t n,
                         struct selection *selection)
{
    selection->has_index = match->index.size > 0;
    selection->has_start = match->start.size > 0;
    selection->has_end = match->end.size > 0;
    selection->has_prefix = !selection->has_start || !selection->has_end;
    selection->reverse = match->reverse;
    kx_add_slice(&selection->index, match->index);
    if (selection->has_prefix)
        kx_add_slice(&selection->prefix, match->prefix);
    if (n < match->value_count)
        kx_add_slice(&selection->prefix, match->values[n]);
    kx_add_slice(&selection->start, match->start);
    kx_add_slice(&selection->end, match->end);
}

static bool contradicts(const struct selection *selection)
{
    return selection->has_start && selection->has_end &&
           kx_compare(kx_buffer_slice(&selection->start),
                      kx_buffer_slice(&selection->end)) > 0;
}

/* The selection is initialized by the caller: a query may have thousands of
 * values, and what is made for each of them is freed. */
static bool select_in(const struct kx_index_match *match, size_t n,
                      const struct request *request,
                      struct selection *selection,
                      struct selector *selector_out)
{
    struct input_error error;
    select_match(match, n, selection);
    if (!selection_fold(selection, request, &error))
        return false;
    if (contradicts(selection))
        selection->end = selection->start;
    return selector_make(selection, selection->prefix.owner, selector_out,
                         &error);
}

bool explain_request_select(const struct kx_index_match *match, size_t n,
                            const struct request *request,
                            struct selection *selection,
                            struct selector *selector_out)
{
    selection_init(selection, request->memory);
    return select_in(match, n, request, selection, selector_out);
}

/* The selection as a client gives it: the index folds and turns its keys. */
static bool select_shown(void *memory, const struct kx_index_match *match,
                         size_t n, const struct request *request,
                         struct selection *selection)
{
    struct selection used;
    struct selector selector;
    selection_init(&used, memory);
    if (!select_in(match, n, request, &used, &selector))
        return false;
    selection_init(selection, memory);
    select_match(match, n, selection);
    if (used.has_start && used.has_end &&
        kx_equal(kx_buffer_slice(&used.start), kx_buffer_slice(&used.end)))
        selection->end = selection->start;
    return true;
}

/* Rows that are counted of each value, when those before have had KX_PAGE_MAX:
 * as many as an estimate needs. */
enum { COUNTED_MIN = 64 };

static bool estimate_one(const struct kx_index_match *match, size_t n,
                         const struct request *request,
                         struct kx_estimate *estimate)
{
    struct kx_reader *reader = request->reader;
    struct selection selection;
    struct selector selector;
    enum kx_status status = KX_NO_MEMORY;
    void *memory = talloc_new(request->memory);
    selection_init(&selection, memory);
    if (memory != NULL && select_in(match, n, request, &selection, &selector)) {
        kx_read_begin(reader);
        status = kx_estimate(reader, selector.index, &selector.range, estimate,
                             NULL);
        kx_read_end(reader);
    }
    talloc_free(memory);
    return status == KX_OK;
}

bool explain_request_estimate(const struct kx_index_match *match,
                              const struct request *request,
                              struct kx_estimate *estimate_out)
{
    estimate_out->most = KX_PAGE_MAX;
    if (!estimate_one(match, 0, request, estimate_out))
        return false;
    for (size_t n = 1; n < match->value_count; n++) {
        uint64_t counted = estimate_out->rows;
        struct kx_estimate estimate = {
            .most = counted + COUNTED_MIN < KX_PAGE_MAX ? KX_PAGE_MAX - counted
                                                        : COUNTED_MIN};
        if (!estimate_one(match, n, request, &estimate))
            return false;
        estimate_out->rows += estimate.rows;
        estimate_out->exact &= estimate.exact;
    }
    return true;
}

/* In a query an escaped '/' or '=' could have been meant as such, and a '['
 * that comes first begins JSON. */
static bool is_clear(struct kx_slice path)
{
    if (kx_starts_with(path, kx_text("%5B")))
        return false;
    for (size_t i = 0; i + 2 < path.size; i++)
        if (memcmp(path.data + i, "%2F", 3) == 0 ||
            memcmp(path.data + i, "%3D", 3) == 0)
            return false;
    return path.size > 0;
}

static void add_key(const char *name, struct kx_slice key,
                    struct kx_buffer *out)
{
    struct kx_buffer text;
    kx_buffer_init(&text, out->owner);
    kx_add_text(out, name);
    key_text_to_path(key, &text);
    if (!is_clear(kx_buffer_slice(&text))) {
        text.size = 0;
        kx_key_to_json(key, &text);
        percent_encode(kx_buffer_slice(&text), out);
    } else {
        kx_add_slice(out, kx_buffer_slice(&text));
    }
    out->failed |= text.failed;
    kx_buffer_free(&text);
}

void explain_request_prefix(struct kx_slice prefix, struct kx_buffer *out)
{
    add_key("/list?prefix=", prefix, out);
}

static void add_fields(const struct kx_query *query, struct kx_buffer *out)
{
    const struct kx_slice *fields;
    size_t count = kx_query_fields(query, &fields);
    struct kx_buffer text;
    kx_buffer_init(&text, out->owner);
    for (size_t i = 0; i < count; i++) {
        kx_add_text(&text, i == 0 ? "[" : ",");
        kx_json_escape(fields[i], &text);
    }
    if (count > 0) {
        kx_add_text(&text, "]");
        kx_add_text(out, "&fields=");
        percent_encode(kx_buffer_slice(&text), out);
    }
    out->failed |= text.failed;
    kx_buffer_free(&text);
}

/* Appends each of the values, which follow `given` bytes of prefix, and the
 * order of the list. */
static bool add_values(const struct kx_index_match *match,
                       const struct request *request, size_t given,
                       struct kx_buffer *out)
{
    struct selection selection;
    bool good = true;
    for (size_t n = 0; good && n < match->value_count; n++) {
        void *memory = talloc_new(request->memory);
        good = memory != NULL &&
               select_shown(memory, match, n, request, &selection);
        if (good)
            add_key("&in=",
                    kx_slice(selection.prefix.data + given,
                             selection.prefix.size - given),
                    out);
        talloc_free(memory);
    }
    if (!good)
        return false;
    if (match->merge)
        kx_add_text(out, "&order=merge");
    return true;
}

static void add_selection(const struct selection *selection,
                          struct kx_buffer *out)
{
    bool all = selection->has_index && selection->prefix.size == 0;
    if (selection->has_index) {
        kx_add_text(out, "&index=");
        kx_add_slice(out, kx_buffer_slice(&selection->index));
    }
    if (selection->has_prefix && !all)
        add_key("&prefix=", kx_buffer_slice(&selection->prefix), out);
    if (selection->has_start)
        add_key("&start=", kx_buffer_slice(&selection->start), out);
    if (selection->has_end)
        add_key("&end=", kx_buffer_slice(&selection->end), out);
}

void explain_request_range(const struct kx_index_match *match,
                           const struct request *request, struct kx_buffer *out)
{
    struct selection selection;
    struct selector selector;
    size_t start = out->size;
    if (!explain_request_select(match, 0, request, &selection, &selector))
        out->failed = true;
    else
        add_selection(&selection, out);
    if (!out->failed)
        out->data[start] = '?';
}

void explain_request_address(const struct kx_index_match *match,
                             const struct request *request,
                             const struct kx_query *query,
                             struct kx_buffer *out)
{
    struct selection selection;
    size_t start = out->size;
    if (!select_shown(request->memory, match, match->value_count, request,
                      &selection)) {
        out->failed = true;
        return;
    }
    add_selection(&selection, out);
    if (!add_values(match, request, selection.prefix.size, out))
        out->failed = true;
    if (match->reverse)
        kx_add_text(out, "&reverse=true");
    add_fields(query, out);
    if (!out->failed)
        out->data[start] = '?';
}
