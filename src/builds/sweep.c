/* Chooses the next index of a sweep, and runs one step on its rows. */
#include "builds/sweep.h"

#include <talloc.h>

#include "commit/job.h"

static bool is_throttled(const struct writer *writer,
                         const struct sweep_policy *policy)
{
    return policy->pace == SWEEP_THROTTLED ||
           (policy->pace == SWEEP_MAY_BE_UNPACED && !writer->unpaced);
}

struct index *sweep_next(const struct writer *writer,
                         const struct sweep_policy *policy)
{
    const struct catalog *catalog = writer->base.catalog;
    bool throttled = is_throttled(writer, policy);
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count + catalog->rule_count; i++) {
        struct index *index = i < catalog->count
                                  ? catalog->indexes[i]
                                  : catalog->rules[i - catalog->count];
        if (policy->needed(index) &&
            !(throttled && throttle_allowance(&index->pace, now_ms) == 0))
            return index;
    }
    return NULL;
}

void sweep_prepare(struct sweep *sweep, const struct sweep_policy *policy,
                   struct writer *writer, void *mem)
{
    sweep->policy = policy;
    sweep->writer = writer;
    kx_buffer_init(&sweep->bounds[0], mem);
    kx_buffer_init(&sweep->bounds[1], mem);
}

static enum kx_status begin_range(struct sweep *sweep)
{
    struct kx_buffer *start = &sweep->bounds[0];
    struct kx_buffer *end = &sweep->bounds[1];
    bool resumes = sweep->position->size != 0;
    kx_buffer_clear(start);
    kx_buffer_clear(end);
    kx_add_slice(start,
                 resumes ? row_position_key(sweep->position) : sweep->prefix);
    if (resumes)
        kx_add_byte(start, 0);
    kx_add_slice(end, sweep->end.size != 0 ? sweep->end : sweep->prefix);
    if (sweep->end.size == 0)
        kx_add_byte(end, 0xff);
    if (start->failed || end->failed)
        return KX_NO_MEMORY;
    return engine_range_begin(sweep->writer->base.range, kx_buffer_slice(start),
                              kx_buffer_slice(end));
}

static bool is_full(const struct sweep *sweep)
{
    return sweep->policy->full != NULL && sweep->policy->full(sweep);
}

enum kx_status sweep_rows(struct sweep *sweep)
{
    struct engine_range *range = sweep->writer->base.range;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status = begin_range(sweep);
    for (size_t i = 0; status == KX_OK &&
                       job_reads_on(range, i, sweep->limit) && !is_full(sweep);
         i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        status = sweep->policy->visit(sweep, key, bytes);
        row_position_set(sweep->position, key);
    }
    engine_range_end(range);
    return status;
}

static enum kx_status run(struct sweep *sweep)
{
    const struct sweep_policy *policy = sweep->policy;
    enum kx_status status =
        policy->begin == NULL ? KX_OK : policy->begin(sweep);
    if (status == KX_OK)
        status = sweep_rows(sweep);
    return policy->finish(sweep, status);
}

static size_t take_allowance(struct sweep *sweep)
{
    size_t most = sweep->writer->job_size;
    return is_throttled(sweep->writer, sweep->policy)
               ? throttle_take(&sweep->index->pace, most, kx_now_ms())
               : most;
}

void sweep_step(struct writer *writer, struct index *index,
                const struct sweep_policy *policy)
{
    enum kx_status status = KX_NO_MEMORY;
    struct sweep *sweep = talloc_zero_size(NULL, policy->state_size);
    if (sweep != NULL) {
        sweep_prepare(sweep, policy, writer, sweep);
        sweep->index = index;
        sweep->prefix = index->declaration->name_key;
        sweep->batch = (struct batch){.action = CATALOG_BUILD,
                                      .index = index,
                                      .state = index->state,
                                      .build = index->build};
        sweep->position = &sweep->batch.build.resume;
        sweep->limit = take_allowance(sweep);
        status = run(sweep);
    }
    if (status != KX_OK)
        job_failed(writer, policy->event, status);
    talloc_free(sweep);
}

enum kx_status sweep_write(struct sweep *sweep, struct kx_slice key,
                           struct kx_slice value)
{
    struct batch *batch = &sweep->batch;
    if (batch->writes == NULL)
        batch->writes = talloc_array(sweep, struct row_write,
                                     (unsigned)sweep->writer->job_size);
    if (batch->writes == NULL || !kx_slice_copy(sweep, key, &key))
        return KX_NO_MEMORY;
    batch->writes[batch->write_count++] =
        (struct row_write){.type = value.size == 0 ? ROW_DELETE : ROW_PUT,
                           .table = TABLE_ENTRIES,
                           .key = key,
                           .value = value};
    return KX_OK;
}
