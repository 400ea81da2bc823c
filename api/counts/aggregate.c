/* GET /aggregate: the totals of all groups of an aggregate index in a range,
 * added up in one view. */
#include "counts/count_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "kindex/aggregate.h"
#include "rest/answer.h"
#include "rest/refusal.h"
#include "rest/selector.h"

static bool no_index(struct input_error *error)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "index is missing: name an index that has totals, such as "
                    "?index=orders_by_status.");
    error->parameter = kx_text(query_params_name(PARAMETER_INDEX));
    return false;
}

static bool read_range(struct request *request, struct selection *selection,
                       struct selector *selector, struct input_error *error)
{
    const unsigned allowed = TAKES_INDEX | TAKES_PREFIX | TAKES_START |
                             TAKES_END | TAKES_CONSISTENCY;
    struct query_params query;
    selection_init(selection, request->memory);
    return query_params_read(request->query, allowed, request->memory, &query,
                             error) &&
           (query_params_has(&query, PARAMETER_INDEX) || no_index(error)) &&
           selection_read(&query, selection, error) &&
           selection_fold(selection, request, error) &&
           selector_make(selection, request->memory, selector, error);
}

static void refuse(struct request *request, struct reply *reply,
                   const struct kx_fault *fault,
                   const struct selector *selector)
{
    struct input_error error;
    struct kx_slice name = selector->index;
    if (fault->status == KX_BAD_INDEX) {
        input_error_set(&error, PROBLEM_BAD_PARAMETER,
                        "The index %.*s has no totals; one that is declared "
                        "with \"store\":{\"aggregate\":...} has them.",
                        (int)name.size, (const char *)name.data);
        error.parameter = kx_text(query_params_name(PARAMETER_INDEX));
        input_error_reply(request, reply, &error);
        return;
    }
    if (fault->status != KX_AGAIN) {
        refuse_scan(request, reply, fault, selector);
        return;
    }
    input_error_set(&error, PROBLEM_BAD_PARAMETER,
                    "The range has more than %d groups: give a longer prefix, "
                    "or start and end; or declare an index with fewer fields.",
                    KX_GROUPS_MAX);
    error.parameter = kx_text(query_params_name(PARAMETER_PREFIX));
    input_error_reply(request, reply, &error);
}

/* Appends the totals and, if the caller may see it, the number of entries that
 * meet the conditions of the index but are left out of the totals. */
static void write_totals(const struct request *request,
                         const struct kx_index_info *info,
                         struct kx_slice totals, struct kx_buffer *out)
{
    char number[24];
    kx_add(out, totals.data, totals.size - 1);
    if (access_counts_index(request, info)) {
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)(kx_left_out_sum(info->left_out) -
                                      info->left_out[KX_LEFT_OUT_WHERE]));
        kx_add_text(out, ",\"leftOut\":");
        kx_add_text(out, info->left_out_known ? number : "null");
    }
    kx_add_byte(out, '}');
}

static void add_up(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct selection selection;
    struct selector selector;
    struct input_error error;
    struct kx_buffer totals;
    struct kx_index_info info;
    struct kx_fault fault = {.status = KX_OK};
    if (!read_range(request, &selection, &selector, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!selector_allowed(request, reply, SCOPE_LIST, &selector))
        return;
    kx_buffer_init(&totals, request->memory);
    kx_read_begin(request->reader);
    fault.status = kx_aggregate(request->reader, selector.index,
                                &selector.range, &totals, &fault);
    if (fault.status == KX_OK &&
        kx_index_find(request->reader, selector.index, &info) == KX_OK) {
        answer_json(reply, 200);
        write_totals(request, &info, kx_buffer_slice(&totals), &reply->body);
    }
    reply->flush = kx_read_end(request->reader);
    if (fault.status != KX_OK)
        refuse(request, reply, &fault, &selector);
}

void aggregate_get(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, add_up, NULL);
}
