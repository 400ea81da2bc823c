/* The report of a verification, and its stored form. */
#include "catalog/verify_report.h"

#include "catalog/row_json.h"

const char *kx_damage_text(enum kx_damage damage)
{
    switch (damage) {
    case KX_MISSING:
        return "missing";
    case KX_DANGLING:
        return "dangling";
    case KX_STALE:
        return "stale";
    case KX_DUPLICATE:
        return "duplicate";
    case KX_DAMAGES:
        break;
    }
    return "";
}

static void keep(struct kx_sample *sample, struct kx_slice key)
{
    sample->size = key.size > KX_SAMPLE_KEY_MAX ? 0 : key.size;
    if (sample->size != 0)
        memcpy(sample->key, key.data, key.size);
}

void verify_report_note(struct verify_report *verification,
                        enum kx_damage damage, struct kx_slice index_key,
                        struct kx_slice key)
{
    struct kx_verification *report = &verification->report;
    size_t n = report->sample_counts[damage];
    report->counts[damage]++;
    if (n == KX_SAMPLES_MAX)
        return;
    keep(&report->samples[damage][n].index_key, index_key);
    keep(&report->samples[damage][n].key, key);
    report->sample_counts[damage]++;
}

static json_t *damage_to_json(const struct kx_verification *report, int damage)
{
    json_t *samples = json_array();
    for (size_t i = 0; i < report->sample_counts[damage]; i++) {
        const struct kx_damaged *sample = &report->samples[damage][i];
        json_array_append_new(
            samples,
            json_pack(
                "[o, o]",
                row_json_hex(sample->index_key.key, sample->index_key.size),
                row_json_hex(sample->key.key, sample->key.size)));
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)report->counts[damage],
                     "samples", samples);
}

json_t *verify_report_to_json(const struct verify_report *verification)
{
    const struct kx_verification *report = &verification->report;
    json_t *damages = json_array();
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        json_array_append_new(damages, damage_to_json(report, damage));
    return json_pack(
        "{s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "running",
        report->running, "repair", report->repair, "back", report->back, "done",
        (json_int_t)report->done, "total", (json_int_t)report->total,
        "miscounted", (json_int_t)report->miscounted, "mended",
        (json_int_t)report->repaired, "startedAt",
        (json_int_t)report->started_at_ms, "endedAt",
        (json_int_t)report->ended_at_ms, "damages", damages, "resume",
        row_json_hex(verification->resume.key, verification->resume.size));
}

static void read_sample(const json_t *json, struct kx_sample *sample,
                        size_t part)
{
    sample->size = row_json_from_hex(json_array_get(json, part), sample->key,
                                     sizeof sample->key);
}

static void read_damage(const json_t *json, struct kx_verification *report,
                        int damage)
{
    const json_t *samples = json_object_get(json, "samples");
    size_t count = json_array_size(samples);
    report->counts[damage] =
        (uint64_t)json_integer_value(json_object_get(json, "count"));
    report->sample_counts[damage] =
        count > KX_SAMPLES_MAX ? KX_SAMPLES_MAX : count;
    for (size_t i = 0; i < report->sample_counts[damage]; i++) {
        const json_t *sample = json_array_get(samples, i);
        read_sample(sample, &report->samples[damage][i].index_key, 0);
        read_sample(sample, &report->samples[damage][i].key, 1);
    }
}

bool verify_report_from_json(const json_t *json,
                             struct verify_report *verification_out)
{
    struct kx_verification *report = &verification_out->report;
    json_t *damages = NULL;
    json_t *resume = NULL;
    int flag[3] = {0};
    json_int_t number[6] = {0};
    if (json_unpack((json_t *)json,
                    "{s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s?I, s:o, s:o}",
                    "running", &flag[0], "repair", &flag[1], "back", &flag[2],
                    "done", &number[0], "total", &number[1], "mended",
                    &number[2], "startedAt", &number[3], "endedAt", &number[4],
                    "miscounted", &number[5], "damages", &damages, "resume",
                    &resume) != 0)
        return false;
    *report = (struct kx_verification){.running = flag[0] != 0,
                                       .repair = flag[1] != 0,
                                       .back = flag[2] != 0,
                                       .done = (uint64_t)number[0],
                                       .total = (uint64_t)number[1],
                                       .repaired = (uint64_t)number[2],
                                       .miscounted = (uint64_t)number[5],
                                       .started_at_ms = number[3],
                                       .ended_at_ms = number[4]};
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        read_damage(json_array_get(damages, (size_t)damage), report, damage);
    struct row_position *position = &verification_out->resume;
    position->size =
        row_json_from_hex(resume, position->key, sizeof position->key);
    return true;
}
