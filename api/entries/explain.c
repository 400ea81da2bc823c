/* POST /explain: which index answers a query, by which request, reading how
 * many entries; why each of the others does not; and, when none does, the
 * declaration of one that would. The same of their number. Nothing is read but
 * for the estimates. */
#include "entries/entry_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "kindex/aggregate.h"
#include "rest/answer.h"
#include "entries/explain_request.h"
#include "http/percent.h"
#include "rest/body.h"
#include "rest/core_refusal.h"

/* A query while it is explained; the request's state. All matches are taken in
 * one view, and what that takes is limited (KX_MATCH_MAX). Each index that has
 * a request takes one turn, since an estimate reads rows in a separate view. */
struct explanation {
    struct input_error error; /* set unless `good` */
    bool good;                /* the query is */
    bool more;                /* slices follow */
    struct request *request;
    struct kx_buffer *out;
    struct kx_query *query;
    struct kx_index_match entries;
    struct kx_index_match *matches; /* NULL: not yet taken */
    size_t match_count;
    size_t shown; /* matches that the answer has */
    struct kx_buffer advice;
    uint64_t cost; /* of the best so far: entries read */
    struct kx_slice best;
    struct kx_buffer best_request;
    uint64_t filtered_cost; /* the same of requests that test entries */
    struct kx_buffer filtered;
    bool answered;         /* by one that is ready, or soon will be */
    struct kx_buffer held; /* the index that holds the count of all entries */
    const struct kx_index_match *counting; /* or a range of one with totals */
    bool counted; /* by one that is ready, or soon will be */
};

/* A count that reads more than so many entries is worth an index. */
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

/* Conditions are written once, and numbered where an index leaves them. */
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

/* The request that answers it with the fewest reads is the answer. */
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

/* A list can test what the order leaves, if the conditions are those of `where`
 * in a list. */
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

/* Also for one that leaves conditions to the client: it may still be better
 * than reading everything. */
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

static void add_fit(struct explanation *explanation,
                    const struct kx_index_match *match)
{
    struct kx_buffer *out = explanation->out;
    kx_add_text(out, match->mismatches == 0 ? "\"answers\":true"
                                            : "\"answers\":false");
    if (has_request(match))
        add_request(explanation, match);
    add_left(match->left, out);
    add_reasons(match->mismatches, out);
    kx_add_byte(out, '}');
}

static void begin_fits(struct explanation *explanation)
{
    struct kx_buffer *out = explanation->out;
    kx_add_text(out, "{\"entries\":{");
    add_fit(explanation, &explanation->entries);
    add_conditions(explanation->query, out);
    kx_add_text(out, ",\"indexes\":[");
}

/* Adds indexes up to the next that has a request. Returns whether it was added
 * and is not the last: the rest is for another turn. */
static bool add_fits(struct explanation *explanation)
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
        add_fit(explanation, match);
        explanation->shown++;
        read = has_request(match);
    }
    return explanation->shown < explanation->match_count;
}

/* ---- Finding out -------------------------------------------------------- */

/* One without fields that is being built will hold the count of all entries. */
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

/* Indexes that the caller may not see are not mentioned. */
static enum kx_status take_fits(struct explanation *explanation,
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

/* Names of indexes live as long as the view; what is written after it needs
 * them still. */
static bool keep_names(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->match_count; i++) {
        struct kx_slice *name = &explanation->matches[i].index;
        void *copy =
            talloc_memdup(explanation->matches, name->data, name->size);
        if (copy == NULL)
            return false;
        *name = kx_slice(copy, name->size);
    }
    return true;
}

/* KX_OK; explanation->advice is the declaration when one is wanted and there is
 * one. Whether its name is free is told only to a caller that may list
 * everything. */
static enum kx_status find_out(struct explanation *explanation,
                               struct kx_fault *fault)
{
    const struct request *request = explanation->request;
    struct kx_reader *reader = request->reader;
    bool all = access_covers(request, SCOPE_LIST, kx_slice(NULL, 0));
    kx_read_begin(reader);
    enum kx_status status = take_fits(explanation, fault);
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

/* Are the groups few enough to be added up? */
static bool adds_up(const struct kx_index_match *match,
                    const struct request *request)
{
    struct kx_estimate groups;
    return match != NULL && explain_request_estimate(match, request, &groups) &&
           groups.rows <= KX_GROUPS_MAX;
}

/* The request that counts the entries by reading totals; if there is no such
 * index and a count reads much, the declaration of one. */
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

/* Takes the matches and begins the answer. False: the reply is complete. */
static bool begin(struct explanation *explanation, struct reply *reply)
{
    struct request *request = explanation->request;
    struct kx_fault fault = {0};
    struct input_error error;
    explanation->matches =
        talloc_array(explanation, struct kx_index_match, KX_INDEXES_MAX);
    fault.status = explanation->matches == NULL ? KX_NO_MEMORY
                                                : find_out(explanation, &fault);
    if (fault.status == KX_BAD_INDEX) {
        input_error_condition(&error, &fault);
        input_error_reply(request, reply, &error);
    } else if (fault.status != KX_OK) {
        core_refusal_read(request, reply, &fault, kx_slice(NULL, 0));
    } else {
        begin_fits(explanation);
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
    explanation->more = add_fits(explanation);
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

/* NULL without memory. */
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

static void read_asked(struct request *request, void *arg)
{
    struct explanation *explanation = arg;
    (void)request;
    explanation->good = read_query(explanation, &explanation->error);
}

/* Slice after slice, since each index takes an estimate or more. */
void explain_list(struct request *request, struct reply *reply)
{
    struct explanation *explanation = make_explanation(request);
    if (explanation == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_work(request, read_asked, explanation))
        return;
    if (!explanation->good) {
        input_error_reply(request, reply, &explanation->error);
        return;
    }
    while (request_read(request, explain, explanation) && explanation->more &&
           request_turn(request))
        ;
}
