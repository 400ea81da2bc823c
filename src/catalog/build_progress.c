/* The stored form of a build's progress. */
#include "catalog/build_progress.h"

#include "catalog/row_json.h"

void build_progress_skip(struct build_progress *build, struct kx_slice key)
{
    build->skipped++;
    if (build->sample_count == KX_SAMPLES_MAX || key.size > KX_SAMPLE_KEY_MAX)
        return;
    struct kx_sample *sample = &build->samples[build->sample_count++];
    memcpy(sample->key, key.data, key.size);
    sample->size = key.size;
}

void build_progress_begin(struct build_progress *build)
{
    if (build->run_started_ns != 0)
        return;
    build->run_started_ns = kx_monotonic_ns();
    build->run_base = build->done;
}

static json_t *samples_to_json(const struct kx_sample *samples, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              row_json_hex(samples[i].key, samples[i].size));
    return list;
}

json_t *build_progress_to_json(const struct build_progress *build)
{
    return json_pack(
        "{s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I}", "resume",
        row_json_hex(build->resume.key, build->resume.size), "origin",
        row_json_hex(build->origin.key, build->origin.size), "wrapped",
        build->wrapped, "done", (json_int_t)build->done, "total",
        (json_int_t)build->total, "skipped", (json_int_t)build->skipped,
        "samples", samples_to_json(build->samples, build->sample_count),
        "startedAt", (json_int_t)build->started_at_ms);
}

static size_t read_samples(const json_t *list, struct kx_sample *samples)
{
    size_t count = json_array_size(list);
    if (count > KX_SAMPLES_MAX)
        count = KX_SAMPLES_MAX;
    for (size_t i = 0; i < count; i++)
        samples[i].size = row_json_from_hex(
            json_array_get(list, i), samples[i].key, sizeof samples[i].key);
    return count;
}

bool build_progress_from_json(const json_t *json,
                              struct build_progress *build_out)
{
    json_t *resume = NULL;
    json_t *origin = NULL;
    json_t *samples = NULL;
    int wrapped = 0;
    json_int_t number[4] = {0};
    if (json_unpack((json_t *)json, "{s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I}",
                    "resume", &resume, "origin", &origin, "wrapped", &wrapped,
                    "done", &number[0], "total", &number[1], "skipped",
                    &number[2], "samples", &samples, "startedAt",
                    &number[3]) != 0)
        return false;
    *build_out = (struct build_progress){.wrapped = wrapped != 0,
                                         .done = (uint64_t)number[0],
                                         .total = (uint64_t)number[1],
                                         .skipped = (uint64_t)number[2],
                                         .started_at_ms = number[3]};
    build_out->resume.size = row_json_from_hex(resume, build_out->resume.key,
                                               sizeof build_out->resume.key);
    build_out->origin.size = row_json_from_hex(origin, build_out->origin.key,
                                               sizeof build_out->origin.key);
    build_out->sample_count = read_samples(samples, build_out->samples);
    return true;
}

json_t *build_progress_adoption_to_json(const struct kx_adoption *adoption)
{
    json_t *kinds = json_array();
    for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++)
        json_array_append_new(
            kinds, json_pack("{s:I, s:o}", "count",
                             (json_int_t)adoption->counts[kind], "samples",
                             samples_to_json(adoption->samples[kind],
                                             adoption->sample_counts[kind])));
    return json_pack("{s:b, s:b, s:b, s:o}", "asked", adoption->asked,
                     "gathered", adoption->gathered, "done", adoption->done,
                     "kinds", kinds);
}

bool build_progress_adoption_from_json(const json_t *json,
                                       struct kx_adoption *adoption_out)
{
    int flags[3];
    json_t *kinds = NULL;
    *adoption_out = (struct kx_adoption){.asked = false};
    if (json == NULL)
        return true;
    if (json_unpack((json_t *)json, "{s:b, s:b, s:b, s:o}", "asked", &flags[0],
                    "gathered", &flags[1], "done", &flags[2], "kinds",
                    &kinds) != 0)
        return false;
    adoption_out->asked = flags[0] != 0;
    adoption_out->gathered = flags[1] != 0;
    adoption_out->done = flags[2] != 0;
    for (size_t i = 0; i < KX_ADOPTED_KINDS; i++) {
        const json_t *kind = json_array_get(kinds, i);
        adoption_out->counts[i] =
            (uint64_t)json_integer_value(json_object_get(kind, "count"));
        adoption_out->sample_counts[i] = read_samples(
            json_object_get(kind, "samples"), adoption_out->samples[i]);
    }
    return true;
}
