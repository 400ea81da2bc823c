/* Progress as JSON. Keys are bytes, and are written as hexadecimal digits. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>

void build_skip(struct build *build, struct kx_slice key)
{
    build->skipped++;
    if (build->sample_count == KX_SAMPLES_MAX || key.size > KX_SAMPLE_KEY_MAX)
        return;
    struct sample *sample = &build->samples[build->sample_count++];
    memcpy(sample->key, key.data, key.size);
    sample->size = key.size;
}

static json_t *hex_text(const uint8_t *bytes, size_t size)
{
    char text[2 * ROW_KEY_MAX + 1] = "";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

/* 0 when it is no text or too long. */
static size_t hex_bytes(const json_t *json, uint8_t *out, size_t size)
{
    size_t count = json_string_length(json) / 2;
    const char *text = json_string_value(json);
    if (text == NULL || count > size)
        return 0;
    for (size_t i = 0; i < count; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return count;
}

static json_t *samples_to_json(const struct build *build)
{
    json_t *list = json_array();
    for (size_t i = 0; i < build->sample_count; i++)
        json_array_append_new(
            list, hex_text(build->samples[i].key, build->samples[i].size));
    return list;
}

json_t *build_to_json(const struct build *build)
{
    return json_pack(
        "{s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I}", "resume",
        hex_text(build->resume, build->resume_size), "origin",
        hex_text(build->origin, build->origin_size), "wrapped", build->wrapped,
        "done", (json_int_t)build->done, "total", (json_int_t)build->total,
        "skipped", (json_int_t)build->skipped, "samples",
        samples_to_json(build), "startedAt", (json_int_t)build->started_at_ms);
}

static void read_samples(const json_t *list, struct build *build)
{
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count && i < KX_SAMPLES_MAX; i++) {
        struct sample *sample = &build->samples[i];
        sample->size =
            hex_bytes(json_array_get(list, i), sample->key, sizeof sample->key);
        build->sample_count++;
    }
}

bool build_from_json(const json_t *json, struct build *build_out)
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
    *build_out = (struct build){.wrapped = wrapped != 0,
                                .done = (uint64_t)number[0],
                                .total = (uint64_t)number[1],
                                .skipped = (uint64_t)number[2],
                                .started_at_ms = number[3]};
    build_out->resume_size =
        hex_bytes(resume, build_out->resume, sizeof build_out->resume);
    build_out->origin_size =
        hex_bytes(origin, build_out->origin, sizeof build_out->origin);
    read_samples(samples, build_out);
    return true;
}
