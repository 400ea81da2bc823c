/* POST /explain: shows which index answers a query, the request to send, and
 * how many entries that request reads; why each of the other indexes cannot
 * answer it; and if none can, a declaration of an index that could. Does the
 * same for a count of the entries. Entries are read only for the estimates. */
#include "entries/explain.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "entries/entry_handlers.h"
#include "http/percent.h"
#include "kindex/aggregate.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/refusal.h"
#include "rest/key_text.h"

/* ---- A match as a request ----------------------------------------------- */

/* Keys are written as paths, which people can read, except keys that would be
 * ambiguous in a query: these are written as JSON. */

/* Selects both bounds, or the prefix with one of them, or the prefix alone.
 * Bounds that contradict each other select nothing. */
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

/* The caller has initialized the selection: a query may have thousands of
 * values, and the memory for each of them is freed. */
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

/* Makes the selection as a client writes it, before the index folds its keys.
 */
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

/* Rows counted for each value after KX_PAGE_MAX rows in all: as many as an
 * estimate needs. */
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

/* False if the path is ambiguous in a query: an escaped '/' or '=' might be
 * meant literally, and a leading '[' begins JSON. */
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

/* Appends each of the values, which follow `given` bytes of the prefix, and the
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

/* Appends the query without `fields` and direction, as GET /aggregate takes it.
 * The match has no values. */
static void explain_request_range(const struct kx_index_match *match,
                                  const struct request *request,
                                  struct kx_buffer *out)
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

/* Appends the query: "?index=users_by_color&prefix=blue". */
static void explain_request_address(const struct kx_index_match *match,
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

/* The state of an explanation. All matches are made in one view, whose time is
 * limited (KX_MATCH_MAX). Each index with a request takes one turn, since its
 * estimate reads rows in a separate view. */
struct explanation {
    bool more; /* slices follow */
    struct request *request;
    struct kx_buffer *out;
    struct kx_query *query;
    struct kx_index_match entries;
    struct kx_index_match *matches; /* NULL: not yet made */
    size_t match_count;
    size_t shown; /* matches in the answer */
    struct kx_buffer advice;
    uint64_t cost; /* entries that the best request reads */
    struct kx_slice best;
    struct kx_buffer best_request;
    uint64_t filtered_cost; /* entries that the best request with `where` reads
                             */
    struct kx_buffer filtered;
    bool answered; /* an index answers, or will when it is built */
    struct kx_buffer
        held; /* name of the index that holds the count of all entries */
    const struct kx_index_match
        *counting; /* the range of totals to add up, or NULL */
    bool counted;  /* an index counts, or will when it is built */
};

/* Advise an index for counts that read more entries than this. */
enum { COUNT_READS_MAX = 2000 };

enum { ONLY_CONDITIONS = 1u << KX_MISMATCH_CONDITIONS };

/* ---- Writing ------------------------------------------------------------ */

static void add_reasons(unsigned mismatches, struct kx_buffer *out)
{
    bool first = true;
    for (int mismatch = 0; mismatch < KX_MISMATCH_COUNT; mismatch++) {
        if ((mismatches >> mismatch & 1) == 0)
            continue;
        kx_add_text(out,
                    first ? ",\"reasons\":[{\"code\":\"" : ",{\"code\":\"");
        kx_add_text(out, kx_mismatch_code((enum kx_mismatch)mismatch));
        kx_add_text(out, "\",\"detail\":");
        kx_json_escape(kx_text(kx_mismatch_text((enum kx_mismatch)mismatch)),
                       out);
        kx_add_byte(out, '}');
        first = false;
    }
    if (!first)
        kx_add_byte(out, ']');
}

/* Writes the conditions once; `left` of an index has their numbers. */
static void add_conditions(const struct kx_query *query, struct kx_buffer *out)
{
    size_t count = kx_query_conditions(query);
    for (size_t i = 0; i < count; i++) {
        kx_add_text(out, i == 0 ? ",\"conditions\":[" : ",");
        kx_query_condition(query, i, out);
    }
    if (count > 0)
        kx_add_byte(out, ']');
}

static void add_left(uint32_t left, struct kx_buffer *out)
{
    char number[24];
    bool first = true;
    for (unsigned i = 0; i < KX_WHERE_MAX; i++) {
        if ((left >> i & 1) == 0)
            continue;
        snprintf(number, sizeof number, first ? ",\"left\":[%u" : ",%u", i);
        kx_add_text(out, number);
        first = false;
    }
    if (!first)
        kx_add_byte(out, ']');
}

static void add_rows(const struct kx_index_match *match,
                     const struct kx_estimate *estimate, struct kx_buffer *out)
{
    char text[96];
    snprintf(text, sizeof text, ",\"rows\":%llu,\"exact\":%s,\"followed\":%s",
             (unsigned long long)estimate->rows,
             estimate->exact ? "true" : "false",
             match->followed ? "true" : "false");
    kx_add_text(out, text);
}

/* Keeps the request that answers the query with the fewest reads. */
static void consider(struct explanation *explanation,
                     const struct kx_index_match *match, uint64_t rows,
                     struct kx_slice address)
{
    uint64_t cost = match->followed ? 2 * rows : rows;
    struct kx_buffer *best = &explanation->best_request;
    if (match->mismatches != 0 || (best->size > 0 && cost >= explanation->cost))
        return;
    explanation->cost = cost;
    explanation->best = match->index;
    best->size = 0;
    kx_add_slice(best, address);
}

/* True if `where` of a list can test all the conditions that are left. */
static bool left_is_plain(const struct explanation *explanation, uint32_t left)
{
    const struct kx_query *query = explanation->query;
    for (size_t i = 0; i < kx_query_conditions(query); i++)
        if ((left >> i & 1) != 0 && !kx_query_condition_plain(query, i))
            return false;
    return true;
}

static void consider_filtered(struct explanation *explanation,
                              const struct kx_index_match *match, uint64_t rows,
                              struct kx_slice address)
{
    const struct kx_query *query = explanation->query;
    uint64_t cost = match->followed ? 2 * rows : rows;
    struct kx_buffer *filtered = &explanation->filtered;
    struct kx_buffer text;
    if (match->left == 0 || !left_is_plain(explanation, match->left) ||
        (filtered->size > 0 && cost >= explanation->filtered_cost))
        return;
    kx_buffer_init(&text, explanation->request->memory);
    for (size_t i = 0; i < kx_query_conditions(query); i++) {
        if ((match->left >> i & 1) == 0)
            continue;
        kx_add_byte(&text, text.size == 0 ? '[' : ',');
        kx_query_condition(query, i, &text);
    }
    kx_add_byte(&text, ']');
    explanation->filtered_cost = cost;
    filtered->size = 0;
    kx_add_slice(filtered, address);
    kx_add_text(filtered, address.size == 0 ? "?where=" : "&where=");
    percent_encode(kx_buffer_slice(&text), filtered);
    filtered->failed |= text.failed;
    kx_buffer_free(&text);
}

/* Adds the request also if conditions are left to the client, since it may
 * still be better than reading everything. */
static void add_request(struct explanation *explanation,
                        const struct kx_index_match *match)
{
    struct kx_estimate estimate;
    struct kx_buffer address;
    struct request *request = explanation->request;
    kx_buffer_init(&address, request->memory);
    if (!explain_request_estimate(match, request, &estimate))
        return;
    explain_request_address(match, request, explanation->query, &address);
    kx_add_text(explanation->out, ",\"request\":\"/list");
    kx_add_slice(explanation->out, kx_buffer_slice(&address));
    kx_add_byte(explanation->out, '"');
    add_rows(match, &estimate, explanation->out);
    consider(explanation, match, estimate.rows, kx_buffer_slice(&address));
    consider_filtered(explanation, match, estimate.rows,
                      kx_buffer_slice(&address));
    explanation->out->failed |= address.failed;
    kx_buffer_free(&address);
}

static bool has_request(const struct kx_index_match *match)
{
    return (match->mismatches & ~(unsigned)ONLY_CONDITIONS) == 0;
}

static void add_match(struct explanation *explanation,
                      const struct kx_index_match *match)
{
    struct kx_buffer *out = explanation->out;
    kx_add_text(out, match->mismatches == 0 ? "\"answers\":true"
                                            : "\"answers\":false");
    if (match->may_leave_out && match->mismatches == 0)
        kx_add_text(out, ",\"leavesOut\":0,"
                         "\"permanent\":{\"missing\":\"error\"}");
    if (has_request(match))
        add_request(explanation, match);
    add_left(match->left, out);
    add_reasons(match->mismatches, out);
    kx_add_byte(out, '}');
}

static void begin_matches(struct explanation *explanation)
{
    struct kx_buffer *out = explanation->out;
    kx_add_text(out, "{\"entries\":{");
    add_match(explanation, &explanation->entries);
    add_conditions(explanation->query, out);
    kx_add_text(out, ",\"indexes\":[");
}

/* Adds indexes up to the next one with a request. Returns true if more are left
 * for another turn. */
static bool add_matches(struct explanation *explanation)
{
    struct kx_buffer *out = explanation->out;
    bool read = false;
    while (!read && explanation->shown < explanation->match_count) {
        const struct kx_index_match *match =
            &explanation->matches[explanation->shown];
        kx_add_text(out,
                    explanation->shown == 0 ? "{\"index\":" : ",{\"index\":");
        kx_json_escape(match->index, out);
        kx_add_byte(out, ',');
        add_match(explanation, match);
        explanation->shown++;
        read = has_request(match);
    }
    return explanation->shown < explanation->match_count;
}

/* ---- Matches ------------------------------------------------------------ */

/* Notes whether the index has, or when it is built will have, the count. */
static void take_totals(struct explanation *explanation,
                        const struct kx_index_match *match)
{
    const unsigned totals = 1u << KX_MISMATCH_TOTALS;
    const unsigned soon = totals | 1u << KX_MISMATCH_NOT_READY;
    unsigned mismatches = match->mismatches;
    if (match->value_count > 0 || (mismatches & totals) == 0)
        return;
    if (mismatches == totals)
        explanation->counting = match;
    if (mismatches == soon || mismatches == (soon | 1u << KX_MISMATCH_UNUSED))
        explanation->counted = true;
}

/* Makes the matches of all indexes that the caller may see. */
static enum kx_status make_matches(struct explanation *explanation,
                                   struct kx_fault *fault)
{
    struct kx_reader *reader = explanation->request->reader;
    enum kx_status status =
        kx_index_match_entries(explanation->query, &explanation->entries);
    explanation->answered = explanation->entries.mismatches == 0;
    for (size_t n = 0; status == KX_OK && n < KX_INDEXES_MAX; n++) {
        struct kx_index_match *match =
            &explanation->matches[explanation->match_count];
        status = kx_index_match_at(reader, explanation->query, n, match, fault);
        if (status != KX_OK)
            break;
        if (!access_lists_index(explanation->request, match->index))
            continue;
        explanation->match_count++;
        take_totals(explanation, match);
        if ((match->mismatches & ~(1u << KX_MISMATCH_NOT_READY)) == 0)
            explanation->answered = true;
    }
    return status == KX_END ? KX_OK : status;
}

/* Copies the names of indexes, which are valid only during the view. */
static bool keep_names(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->match_count; i++) {
        struct kx_slice *name = &explanation->matches[i].index;
        if (!kx_slice_copy(explanation->matches, *name, name))
            return false;
    }
    return true;
}

/* Makes the matches and, if no index answers, the advised declaration. Only a
 * caller that may list everything is told whether the name is free. */
static enum kx_status match_and_advise(struct explanation *explanation,
                                       struct kx_fault *fault)
{
    const struct request *request = explanation->request;
    struct kx_reader *reader = request->reader;
    bool all = access_covers(request, SCOPE_LIST, kx_slice(NULL, 0));
    kx_read_begin(reader);
    enum kx_status status = make_matches(explanation, fault);
    struct kx_slice held;
    if (status == KX_OK &&
        kx_count_index(reader, explanation->query, &held) == KX_OK &&
        access_lists_index(request, held))
        kx_add_slice(&explanation->held, held);
    if (status == KX_OK && !keep_names(explanation))
        status = KX_NO_MEMORY;
    if (status == KX_OK && !explanation->answered)
        status =
            kx_advise(reader, explanation->query, all, &explanation->advice);
    kx_read_end(reader);
    return status == KX_ABSENT ? KX_OK : status;
}

static void add_count(struct explanation *explanation, const char *path,
                      struct kx_slice address, struct kx_slice index)
{
    struct kx_buffer *out = explanation->out;
    kx_add_text(out, ",\"count\":{\"request\":\"");
    kx_add_text(out, path);
    kx_add_slice(out, address);
    kx_add_text(out, "\",\"index\":");
    kx_json_escape(index, out);
    kx_add_byte(out, '}');
}

/* True if the groups are few enough to be added up. */
static bool adds_up(const struct kx_index_match *match,
                    const struct request *request)
{
    struct kx_estimate groups;
    return match != NULL && explain_request_estimate(match, request, &groups) &&
           groups.rows <= KX_GROUPS_MAX;
}

/* Adds the request that counts the entries by reading totals or, if no index
 * has them and a count reads much, the declaration of one. */
static void add_counting(struct explanation *explanation)
{
    const struct request *request = explanation->request;
    const struct kx_query *query = explanation->query;
    const struct kx_index_match *match = explanation->counting;
    bool all = access_covers(request, SCOPE_LIST, kx_slice(NULL, 0));
    uint64_t reads = explanation->best_request.size > 0
                         ? explanation->cost
                         : explanation->filtered_cost;
    struct kx_buffer text;
    kx_buffer_init(&text, request->memory);
    if (explanation->held.size > 0) {
        explain_request_prefix(kx_query_prefix(query), &text);
        add_count(
            explanation, "/count",
            kx_slice(text.data + strlen("/list"), text.size - strlen("/list")),
            kx_buffer_slice(&explanation->held));
    } else if (adds_up(match, request)) {
        explain_request_range(match, request, &text);
        add_count(explanation, "/aggregate", kx_buffer_slice(&text),
                  match->index);
    } else if (!explanation->counted && reads > COUNT_READS_MAX) {
        kx_read_begin(request->reader);
        enum kx_status status =
            kx_advise_count(request->reader, query, all, &text);
        kx_read_end(request->reader);
        text.failed |= status == KX_NO_MEMORY;
        kx_add_text(explanation->out,
                    status == KX_OK ? ",\"countDeclaration\":" : "");
        if (status == KX_OK)
            kx_add_slice(explanation->out, kx_buffer_slice(&text));
    }
    explanation->out->failed |= text.failed;
}

static void add_best(struct explanation *explanation)
{
    struct kx_buffer *out = explanation->out;
    const struct kx_buffer *advice = &explanation->advice;
    if (explanation->best_request.size == 0) {
        kx_add_text(out, ",\"request\":null,\"index\":null");
        if (explanation->filtered.size > 0) {
            kx_add_text(out, ",\"filtered\":\"/list");
            kx_add_slice(out, kx_buffer_slice(&explanation->filtered));
            kx_add_byte(out, '"');
        }
    } else {
        kx_add_text(out, ",\"request\":\"/list");
        kx_add_slice(out, kx_buffer_slice(&explanation->best_request));
        kx_add_text(out, "\",\"index\":");
        if (explanation->best.size > 0)
            kx_json_escape(explanation->best, out);
        else
            kx_add_text(out, "null");
    }
    if (advice->size > 0) {
        kx_add_text(out, ",\"declaration\":");
        kx_add_slice(out, kx_buffer_slice(advice));
    }
    add_counting(explanation);
    kx_add_byte(out, '}');
}

/* Makes the matches and begins the answer. False: the reply is complete. */
static bool begin(struct explanation *explanation, struct reply *reply)
{
    struct request *request = explanation->request;
    struct kx_fault fault = {0};
    struct input_error error;
    explanation->matches =
        talloc_array(explanation, struct kx_index_match, KX_INDEXES_MAX);
    fault.status = explanation->matches == NULL
                       ? KX_NO_MEMORY
                       : match_and_advise(explanation, &fault);
    if (fault.status == KX_BAD_INDEX) {
        input_error_condition(&error, &fault);
        input_error_reply(request, reply, &error);
    } else if (fault.status != KX_OK) {
        refuse_read(request, reply, &fault, kx_slice(NULL, 0));
    } else {
        begin_matches(explanation);
    }
    return fault.status == KX_OK;
}

static void explain(struct request *request, struct reply *reply, void *arg)
{
    struct explanation *explanation = arg;
    explanation->more = false;
    explanation->out = &reply->body;
    if (!access_key(request, reply, SCOPE_LIST,
                    kx_query_prefix(explanation->query)) ||
        (explanation->matches == NULL && !begin(explanation, reply)))
        return;
    explanation->more = add_matches(explanation);
    if (explanation->more)
        return;
    kx_add_byte(&reply->body, ']');
    add_best(explanation);
    answer_json(reply, 200);
    reply->body.failed |=
        explanation->advice.failed || explanation->best_request.failed ||
        explanation->filtered.failed || explanation->held.failed;
}

static bool read_query(struct explanation *explanation,
                       struct input_error *error)
{
    struct request *request = explanation->request;
    struct kx_fault fault = {0};
    if (!query_params_none(request, error) || !body_json(request, error))
        return false;
    fault.status = kx_query_read(request->memory, request->body,
                                 &explanation->query, &fault);
    return fault.status == KX_OK || input_error_condition(error, &fault);
}

static struct explanation *make_explanation(struct request *request)
{
    struct explanation *explanation =
        talloc_zero(request->memory, struct explanation);
    if (explanation == NULL)
        return NULL;
    explanation->request = request;
    kx_buffer_init(&explanation->best_request, request->memory);
    kx_buffer_init(&explanation->filtered, request->memory);
    kx_buffer_init(&explanation->held, request->memory);
    kx_buffer_init(&explanation->advice, request->memory);
    return explanation;
}

static bool read_asked(struct request *request, void *arg,
                       struct input_error *error)
{
    (void)request;
    return read_query(arg, error);
}

/* Explains slice after slice, since each index may need an estimate. */
void explain_list(struct request *request, struct reply *reply)
{
    struct explanation *explanation = make_explanation(request);
    if (explanation == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_input(request, reply, read_asked, explanation))
        return;
    while (request_read(request, explain, explanation) && explanation->more &&
           request_turn(request))
        ;
}
