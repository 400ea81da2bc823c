/* GET /metrics/history: past values of the metrics, as columns; and the samples
 * from which they are made. */
#include "admin/history.h"

#include <math.h>
#include <stdio.h>
#include <talloc.h>

#include "admin/admin_handlers.h"
#include "admin/metrics.h"
#include "admin/metrics_history.h"
#include "rest/answer.h"
#include "rest/query_params.h"

/* Columns that a slice writes: a day's take a millisecond. */
enum { HISTORY_SLICE = 6 };

/* ---- Samples ------------------------------------------------------------ */

static void add_counts(const struct kx_histogram *histogram,
                       uint64_t counts[KX_BUCKETS], double *total)
{
    for (size_t i = 0; i < KX_BUCKETS; i++) {
        uint64_t count =
            atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        counts[i] += count;
        *total += (double)count;
    }
}

static void sample_requests(const struct service *service,
                            struct history_sample *sample)
{
    const struct counters *counters = &service->counters;
    double *values = sample->values;
    double by_class[STATUS_CLASSES] = {0};
    for (size_t row = 0; row <= service->routes->count; row++)
        for (int class = 0; class < STATUS_CLASSES; class ++)
            add_counts(&counters->replies[row][class], sample->requests,
                       &by_class[class]);
    for (int class = 0; class < STATUS_CLASSES; class ++)
        values[HISTORY_REQUESTS] += by_class[class];
    values[HISTORY_CLIENT_ERRORS] = by_class[4];
    values[HISTORY_SERVER_ERRORS] = by_class[5];
    values[HISTORY_SLOW] = (double)atomic_load(&counters->slow);
    values[HISTORY_CONNECTIONS] = (double)atomic_load(&counters->connections);
    values[HISTORY_IN_FLIGHT] = (double)atomic_load(&counters->in_flight);
    values[HISTORY_BODY_BYTES] = (double)atomic_load(&counters->body_bytes);
}

static void sample_store(struct kx_store *store, struct history_sample *sample)
{
    struct kx_stats figures;
    double *values = sample->values;
    double total = 0;
    kx_stats_read(store, &figures);
    for (int status = 0; status < KX_STATUS_COUNT; status++)
        values[status == KX_OK ? HISTORY_COMMITS : HISTORY_COMMITS_REFUSED] +=
            (double)figures.outcomes[status];
    values[HISTORY_FLUSHES] = (double)figures.flushes;
    values[HISTORY_RECORD_CACHE_HITS] = (double)figures.record_cache_hits;
    values[HISTORY_RECORD_CACHE_MISSES] = (double)figures.record_cache_misses;
    values[HISTORY_PAGE_CACHE_MISSES] = (double)figures.page_cache_misses;
    values[HISTORY_WATCHES] = (double)figures.watches;
    values[HISTORY_QUEUED] = (double)figures.queued;
    values[HISTORY_ENTRIES] = (double)figures.entries;
    values[HISTORY_STORE_BYTES] =
        (double)(figures.entries_bytes + figures.expiry_bytes +
                 figures.catalog_bytes);
    values[HISTORY_LOG_BYTES] = (double)figures.log_bytes;
    values[HISTORY_DISK_FREE] = (double)figures.disk_free;
    add_counts(figures.commit_times, sample->commits, &total);
    sample->active = true;
}

static void take_sample(const struct service *service, int64_t now_ms,
                        struct history_sample *sample)
{
    *sample = (struct history_sample){.at_ms = now_ms};
    sample_requests(service, sample);
    sample->values[HISTORY_CPU] = metrics_cpu_seconds();
    sample->values[HISTORY_RESIDENT_BYTES] = metrics_resident_bytes();
    if (service->store != NULL)
        sample_store(service->store, sample);
}

/* The counters of a store that is opened later also begin at 0. */
void history_open(struct service *service)
{
    struct history_sample sample;
    take_sample(service, service->started_at_ms, &sample);
    history_begin(service->history, &sample);
}

void history_tend(struct service *service)
{
    struct history_sample sample;
    int64_t now_ms = kx_now_ms();
    if (!history_due(service->history, now_ms))
        return;
    take_sample(service, now_ms, &sample);
    history_add(service->history, &sample);
}

/* ---- The reply ---------------------------------------------------------- */

/* The state of a reply that is written in slices. */
struct history_reply {
    struct history_range range;
    int next; /* series */
    double values[];
};

static void add_series(struct metrics_history *history,
                       struct history_reply *state, struct kx_buffer *out)
{
    enum history_series series = (enum history_series)state->next++;
    char text[64];
    snprintf(text, sizeof text, "%s\"%s\":[", series > 0 ? "," : "",
             history_name(series));
    kx_add_text(out, text);
    history_read(history, &state->range, series, state->values);
    for (size_t i = 0; i < state->range.count; i++) {
        if (isnan(state->values[i]))
            snprintf(text, sizeof text, "%snull", i > 0 ? "," : "");
        else
            snprintf(text, sizeof text, "%s%.12g", i > 0 ? "," : "",
                     state->values[i]);
        kx_add_text(out, text);
    }
    kx_add_byte(out, ']');
}

/* NULL: the reply says why. */
static struct history_reply *begin(struct request *request, struct reply *reply)
{
    struct metrics_history *history = request->service->history;
    struct query_params query;
    struct input_error error;
    struct history_range range;
    struct history_reply *state;
    bool minutes;
    int64_t since_ms = 0;
    char text[80];
    if (!query_params_read(request->query, TAKES_STEP | TAKES_SINCE,
                           request->memory, &query, &error) ||
        !query_params_step(&query, &minutes, &error) ||
        !query_params_since(&query, &since_ms, &error)) {
        input_error_reply(request, reply, &error);
        return NULL;
    }
    history_range(history, minutes ? HISTORY_MINUTE : HISTORY_TEN_SECONDS,
                  since_ms, &range);
    state = talloc_zero_size(request->memory,
                             sizeof *state + range.count * sizeof(double));
    if (state == NULL) {
        reply->body.failed = true;
        return NULL;
    }
    state->range = range;
    answer_json(reply, 200);
    int64_t step_ms = history_step_ms(range.resolution);
    int64_t from_ms = range.first * step_ms;
    snprintf(text, sizeof text, "{\"stepMs\":%lld,\"from\":%lld,\"series\":{",
             (long long)step_ms, (long long)from_ms);
    kx_add_text(&reply->body, text);
    return state;
}

/* Writes a few series in each turn. */
void history_show(struct request *request, struct reply *reply)
{
    struct history_reply *state = begin(request, reply);
    if (state == NULL)
        return;
    while (state->next < HISTORY_SERIES) {
        for (int i = 0; i < HISTORY_SLICE && state->next < HISTORY_SERIES; i++)
            add_series(request->service->history, state, &reply->body);
        if (state->next < HISTORY_SERIES && !request_turn(request))
            return;
    }
    kx_add_text(&reply->body, "}}");
}
