/* Writes declared indexes as JSON. The total of a running build is an estimate,
 * and entries come and go meanwhile, so `done` may exceed the total; the
 * percentage stays below 100. */
#include "rest/indexjson.h"

#include <stdio.h>

/* A build reads the entries, then writes the index entries of all indexes that
 * it reads for. Until the rate of writing is known, writing an index entry is
 * estimated to take as long as reading an entry (20,000,000 entries, two
 * indexes: 30 s to read and sort, 59 s to write). Returns the index entries for
 * each entry read. */
static double writing_for_reading(const struct kx_index_info *info)
{
    return info->done == 0 ? 0 : (double)info->gathered / (double)info->done;
}

static double reading_seconds(const struct kx_index_info *info)
{
    uint64_t left = info->total > info->done ? info->total - info->done : 0;
    return (double)left / info->per_second;
}

static double writing_seconds(const struct kx_index_info *info)
{
    if (info->gathered == 0)
        return 0;
    if (info->write_rate > 0)
        return (double)info->unwritten / info->write_rate;
    return (double)info->total / info->per_second * writing_for_reading(info);
}

uint64_t indexjson_eta(const struct kx_index_info *info)
{
    if (!(info->per_second > 0) || info->paused ||
        info->migration != KX_INDEX_BUILDING)
        return 0;
    return (uint64_t)(reading_seconds(info) + writing_seconds(info)) + 1;
}

/* Returns the percentage of a running build, at most 99.9. */
static double percent(const struct kx_index_info *info)
{
    if (info->total == 0)
        return 0;
    double share = 100.0 * (double)info->done / (double)info->total;
    if (info->gathered != 0) {
        double written =
            (double)(info->gathered - info->unwritten) / (double)info->gathered;
        double writing = writing_for_reading(info);
        share = (share + 100 * written * writing) / (1 + writing);
    }
    return share > 99.9 ? 99.9 : share;
}

/* Writes some keys of entries that the build skipped. */
static void write_skipped_keys(const struct kx_index_info *info,
                               struct kx_buffer *out)
{
    kx_add_text(out, "\"skippedKeys\":[");
    for (size_t i = 0; i < info->sample_count; i++) {
        if (i > 0)
            kx_add_byte(out, ',');
        kx_key_to_json(info->samples[i], out);
    }
    kx_add_byte(out, ']');
}

void indexjson_write_build(const struct kx_index_info *info,
                           struct kx_buffer *out)
{
    char text[320];
    char eta[24] = "null";
    uint64_t seconds = indexjson_eta(info);
    if (seconds != 0)
        snprintf(eta, sizeof eta, "%llu", (unsigned long long)seconds);
    snprintf(text, sizeof text,
             "{\"done\":%llu,\"total\":%llu,\"percent\":%.1f,"
             "\"perSecond\":%.0f,\"etaSeconds\":%s,\"skipped\":%llu,"
             "\"startedAt\":%lld,\"resumed\":%s,",
             (unsigned long long)info->done, (unsigned long long)info->total,
             percent(info), info->per_second, eta,
             (unsigned long long)info->skipped, (long long)info->started_at_ms,
             info->resumed ? "true" : "false");
    kx_add_text(out, text);
    write_skipped_keys(info, out);
    kx_add_byte(out, '}');
}

/* Writes how many entries the build skipped, and some of their keys. */
static void write_skipped(const struct kx_index_info *info,
                          struct kx_buffer *out)
{
    char text[40];
    if (info->skipped == 0)
        return;
    snprintf(text, sizeof text, ",\"skipped\":%llu,",
             (unsigned long long)info->skipped);
    kx_add_text(out, text);
    write_skipped_keys(info, out);
}

/* Writes the numbers of entries that an index leaves out; NULL: not known. */
static void write_left_out(const uint64_t *left_out, struct kx_buffer *out)
{
    char text[48];
    kx_add_text(out, ",\"leftOut\":");
    if (left_out == NULL) {
        kx_add_text(out, "null");
        return;
    }
    snprintf(text, sizeof text, "{\"entries\":%llu",
             (unsigned long long)kx_left_out_sum(left_out));
    kx_add_text(out, text);
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++) {
        snprintf(text, sizeof text, ",\"%s\":%llu",
                 kx_left_out_text((enum kx_left_out)reason),
                 (unsigned long long)left_out[reason]);
        kx_add_text(out, text);
    }
    kx_add_byte(out, '}');
}

/* Writes the throttle of background work, unless it is unlimited. */
static void write_pace(const struct kx_index_info *info, struct kx_buffer *out)
{
    char limit[24] = "null";
    if (!info->paused && info->per_second_max == 0)
        return;
    if (info->per_second_max != 0)
        snprintf(limit, sizeof limit, "%lu",
                 (unsigned long)info->per_second_max);
    kx_add_text(out, ",\"pace\":{\"paused\":");
    kx_add_text(out, info->paused ? "true" : "false");
    kx_add_text(out, ",\"perSecond\":");
    kx_add_text(out, limit);
    kx_add_byte(out, '}');
}

/* Writes the declaration without its closing brace, so that more members can
 * follow. */
static void open_declaration(struct kx_slice declaration, struct kx_buffer *out)
{
    size_t size = declaration.size;
    while (size > 0 && declaration.data[size - 1] != '}')
        size--;
    kx_add(out, declaration.data, size > 0 ? size - 1 : 0);
}

static void write_failure(const struct kx_index_info *info,
                          struct kx_buffer *out)
{
    if (info->failure[0] == '\0')
        return;
    kx_add_text(out, ",\"failure\":");
    kx_json_escape(kx_text(info->failure), out);
}

/* Finds a member of the declaration by its name, which is in quotes. */
static bool find_member(struct kx_slice declaration, struct kx_slice name,
                        struct kx_slice *value_out)
{
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/%.*s", (int)name.size - 2,
             (const char *)name.data + 1);
    return kx_json_find(declaration, kx_text(pointer), value_out);
}

/* Writes the members of `a` that are missing from `b` or differ there: with
 * their values, or as null. Skips the members that write_migration always
 * writes. */
static void write_others(struct kx_slice a, struct kx_slice b, bool values,
                         struct kx_buffer *out)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    struct kx_slice other;
    kx_json_iterate(a, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        bool there = find_member(b, name, &other);
        if (kx_equal(name, kx_text("\"unique\"")) ||
            kx_equal(name, kx_text("\"store\"")) ||
            (there && (!values || kx_json_equal(value, other))))
            continue;
        kx_add_byte(out, ',');
        kx_add_slice(out, name);
        kx_add_byte(out, ':');
        kx_add_slice(out, values ? value : kx_text("null"));
    }
}

/* Writes the target of a migration, as a patch of the declaration, and its
 * progress. */
static void write_migration(const struct kx_index_info *info, bool counted,
                            struct kx_buffer *out)
{
    static const char *const members[] = {"/unique", "/store"};
    kx_add_text(out, ",\"migration\":{\"state\":\"");
    kx_add_text(out, kx_index_state_text(info->migration));
    kx_add_text(out, "\",\"to\":{");
    for (size_t i = 0; i < 2; i++) {
        struct kx_slice value;
        if (!kx_json_find(info->target, kx_text(members[i]), &value))
            continue;
        kx_add_text(out, i == 0 ? "\"unique\":" : ",\"store\":");
        kx_add_slice(out, value);
    }
    write_others(info->target, info->declaration, true, out);
    write_others(info->declaration, info->target, false, out);
    kx_add_byte(out, '}');
    if (counted) {
        kx_add_text(out, ",\"build\":");
        indexjson_write_build(info, out);
        write_failure(info, out);
    }
    kx_add_byte(out, '}');
}

/* Writes the size of the index and how often it is used. */
static void write_use(const struct kx_index_info *info, uint64_t bytes,
                      struct kx_buffer *out)
{
    char text[200];
    char last[24] = "null";
    if (info->last_read_ms != 0)
        snprintf(last, sizeof last, "%lld", (long long)info->last_read_ms);
    snprintf(text, sizeof text,
             ",\"bytes\":%llu,\"use\":{\"reads\":%llu,\"writes\":%llu,"
             "\"lastReadAt\":%s,\"since\":%lld}",
             (unsigned long long)bytes, (unsigned long long)info->reads,
             (unsigned long long)info->writes, last, (long long)info->since_ms);
    kx_add_text(out, text);
}

static void write_samples(const struct kx_sample *samples, size_t count,
                          struct kx_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        kx_add(out, ",", i > 0);
        kx_key_to_json(kx_slice(samples[i].key, samples[i].size), out);
    }
}

/* Writes the result of adopting entries that clients had kept as an index, with
 * some keys. */
static void write_adoption(const struct kx_adoption *adoption,
                           struct kx_buffer *out)
{
    char number[48];
    kx_add_text(out, ",\"adopt\":{");
    for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++) {
        snprintf(number, sizeof number, "\"%s\":%llu,", kx_adopted_text(kind),
                 (unsigned long long)adoption->counts[kind]);
        kx_add_text(out, number);
    }
    kx_add_text(out, adoption->done ? "\"done\":true" : "\"done\":false");
    kx_add_text(out, ",\"samples\":{");
    for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++) {
        snprintf(number, sizeof number, "%s\"%s\":[", kind > 0 ? "]," : "",
                 kx_adopted_text(kind));
        kx_add_text(out, number);
        write_samples(adoption->samples[kind], adoption->sample_counts[kind],
                      out);
    }
    kx_add_text(out, "]}}");
}

/* Writes the members with counts and keys that come before `migration`. */
static void write_counts(const struct kx_index_info *info,
                         struct kx_buffer *out)
{
    char text[48];
    snprintf(text, sizeof text, ",\"entries\":%llu",
             (unsigned long long)info->entries);
    kx_add_text(out, text);
    write_left_out(info->left_out_known ? info->left_out : NULL, out);
    if (info->state == KX_INDEX_BUILDING) {
        kx_add_text(out, ",\"build\":");
        indexjson_write_build(info, out);
    } else if (info->state != KX_INDEX_MIGRATING) {
        write_skipped(info, out);
    }
    if (info->conflicts != 0) {
        snprintf(text, sizeof text, ",\"conflicts\":%llu",
                 (unsigned long long)info->conflicts);
        kx_add_text(out, text);
    }
    if (info->adoption->asked)
        write_adoption(info->adoption, out);
}

/* The text of a failure names an entry, so it is shown only if `counted`. */
static void write_state(const struct kx_index_info *info, bool counted,
                        struct kx_buffer *out)
{
    open_declaration(info->declaration, out);
    kx_add_text(out, ",\"state\":\"");
    kx_add_text(out, kx_index_state_text(info->state));
    kx_add_byte(out, '"');
    if (counted)
        write_counts(info, out);
    write_pace(info, out);
    if (info->target.size != 0)
        write_migration(info, counted, out);
    else if (counted)
        write_failure(info, out);
}

void indexjson_write(const struct kx_index_info *info, bool counted,
                     struct kx_buffer *out)
{
    write_state(info, counted, out);
    kx_add_byte(out, '}');
}

void indexjson_write_used(const struct kx_index_info *info, bool counted,
                          struct kx_reader *reader, struct kx_buffer *out)
{
    uint64_t bytes = 0;
    write_state(info, counted, out);
    if (counted) {
        kx_index_bytes(reader, info->name, &bytes);
        write_use(info, bytes, out);
    }
    kx_add_byte(out, '}');
}

void indexjson_write_estimate(const struct kx_preview *preview, bool counted,
                              struct kx_buffer *out)
{
    char text[320];
    kx_add_text(out, "\"declaration\":");
    kx_add_slice(out, preview->declaration);
    if (!counted)
        return;
    snprintf(text, sizeof text,
             ",\"estimate\":{\"exact\":%s,\"sampled\":%llu,\"covered\":%llu,"
             "\"skipped\":%llu,\"entries\":%llu,\"bytes\":%llu,"
             "\"seconds\":%.1f,\"conflicts\":%llu",
             preview->exact ? "true" : "false",
             (unsigned long long)preview->sampled,
             (unsigned long long)preview->covered,
             (unsigned long long)preview->skipped,
             (unsigned long long)preview->entries,
             (unsigned long long)preview->bytes, preview->seconds,
             (unsigned long long)preview->conflicts);
    kx_add_text(out, text);
    write_left_out(preview->left_out, out);
    kx_add_text(out, "},\"warnings\":");
    kx_add_slice(out, preview->warnings);
}

void indexjson_write_preview(const struct kx_preview *preview, bool counted,
                             const struct kx_adoption *adoption,
                             struct kx_buffer *out)
{
    kx_add_text(out, "{\"dry\":true,");
    indexjson_write_estimate(preview, counted, out);
    if (adoption != NULL)
        write_adoption(adoption, out);
    kx_add_byte(out, '}');
}

/* ---- Damage ------------------------------------------------------------- */

static void write_key(const char *name, const struct kx_sample *key,
                      struct kx_buffer *out)
{
    if (key->size == 0)
        return;
    kx_add_text(out, name);
    kx_key_to_json(kx_slice(key->key, key->size), out);
}

void indexjson_write_damaged(enum kx_damage damage,
                             const struct kx_damaged *samples, size_t count,
                             bool *some_inout, struct kx_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        kx_add_text(out, *some_inout ? ",{\"damage\":\"" : "{\"damage\":\"");
        kx_add_text(out, kx_damage_text(damage));
        kx_add_byte(out, '"');
        write_key(",\"indexKey\":", &samples[i].index_key, out);
        write_key(",\"key\":", &samples[i].key, out);
        kx_add_byte(out, '}');
        *some_inout = true;
    }
}
