/* Each sampled entry is indexed as in a build. The rows give the size of the
 * index and, if it is unique, the values that occur twice. A sample of one
 * entry in n has one of n * n pairs that share a value. The rows of an index of
 * totals are added up in one row for each group. */
#include "read/declare_preview.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "schema/extract.h"
#include "read/entry_sample.h"
#include "read/path_survey.h"
#include "engine/engine.h"

enum {
    KEYS_MAX = 20000, /* values of a unique index, or groups, to compare */
    ROW_COST = 200,   /* of making a row, in bytes that could be read instead */
    ROW_BYTES = 12,   /* what a row takes beside key and record */
    PAGE_FILL_PERCENT = 70,      /* of a page is used when a build is done */
    ENTRIES_PER_SECOND = 400000, /* read, or written, by a build */
    KEY_SHOWN = 120,             /* bytes of a key in a warning */
    DETAIL_SHOWN = 240,
    TEXT_MAX = 400 /* three keys, or a key and a detail */
};

/* A value of a unique index, or a group, and the entry that has it. */
struct owned {
    struct kx_slice value;
    struct kx_slice owner;
};

struct preview_work {
    struct kx_preview *preview;
    struct sampling *sampling;
    const struct declaration *declaration;
    void *mem;
    struct extract extract;
    struct kx_buffer record;
    struct path_survey survey;
    struct owned *keys;
    size_t key_count;
    uint64_t excluded; /* by where */
    uint64_t refused;  /* would make the build fail */
    char refusal[TEXT_MAX];
    char duplicate[TEXT_MAX];
};

uint64_t declare_preview_range(struct writer *writer, struct kx_slice start,
                               struct kx_slice end)
{
    double share = engine_share(writer->base.view, TABLE_ENTRIES, start, end);
    double rows = (double)catalog_row_count(writer->base.catalog) * share;
    double most = (double)writer->base.catalog->entries;
    return 1 + (uint64_t)(rows < most ? rows : most);
}

static struct kx_slice copy(void *mem, struct kx_slice slice)
{
    void *data = talloc_memdup(mem, slice.data, slice.size);
    return kx_slice(data, data == NULL ? 0 : slice.size);
}

static bool keep_key(struct preview_work *work, struct kx_slice index_key,
                     struct kx_slice owner)
{
    if (declaration_ends_in_owner(work->declaration) ||
        work->key_count == KEYS_MAX)
        return true;
    struct owned *kept = &work->keys[work->key_count++];
    *kept = (struct owned){.value = copy(work->mem, index_key),
                           .owner = copy(work->mem, owner)};
    return kept->value.size != 0 && kept->owner.size != 0;
}

static enum kx_status count_rows(struct preview_work *work, struct kx_slice key)
{
    for (size_t n = 0; n < work->extract.count; n++) {
        struct record row;
        struct kx_slice index_key = extract_key(&work->extract, n);
        enum kx_status status = extract_record(&work->extract, n, 1, &row);
        if (status != KX_OK)
            return status;
        work->record.size = 0;
        record_write(&row, &work->record);
        work->preview->entries++;
        work->sampling->cost += ROW_COST;
        work->preview->bytes += index_key.size + work->record.size + ROW_BYTES;
        if (work->record.failed || !keep_key(work, index_key, key))
            return KX_NO_MEMORY;
    }
    return KX_OK;
}

/* Appends as many whole characters of a text as fit. */
static void show(const struct kx_buffer *text, size_t most, char *out)
{
    size_t used = strlen(out);
    snprintf(out + used, TEXT_MAX - used, "%.*s",
             (int)kx_utf8_fit(kx_buffer_slice(text), most),
             (const char *)text->data);
}

static void show_key(void *mem, struct kx_slice key, char *out)
{
    struct kx_buffer text;
    kx_buffer_init(&text, mem);
    kx_key_to_json(key, &text);
    show(&text, KEY_SHOWN, out);
}

static void note_refusal(struct preview_work *work, struct kx_slice key)
{
    struct kx_buffer detail;
    struct kx_buffer field;
    if (work->refused++ > 0)
        return;
    kx_buffer_init(&detail, work->mem);
    kx_buffer_init(&field, work->mem);
    kx_add_text(&detail, ": ");
    extract_describe(&work->extract, &detail, &field);
    show_key(work->mem, key, work->refusal);
    show(&detail, DETAIL_SHOWN, work->refusal);
}

static enum kx_status take(void *context, struct kx_slice key,
                           const struct record *record)
{
    struct preview_work *work = context;
    work->preview->read++;
    if (!declaration_covers(work->declaration, key))
        return KX_OK;
    work->preview->sampled++;
    enum kx_status status =
        extract_keys(&work->extract, work->declaration, key, record);
    if (status != KX_OK && status != KX_NOT_INDEXABLE)
        return status;
    path_survey_add(&work->survey, work->extract.document);
    if (status == KX_NOT_INDEXABLE)
        note_refusal(work, key);
    else if (work->extract.excluded)
        work->excluded++;
    else if (work->extract.count == 0)
        work->preview->skipped++;
    return count_rows(work, key);
}

static int by_value(const void *a, const void *b)
{
    const struct owned *left = a;
    const struct owned *right = b;
    return kx_compare(left->value, right->value);
}

static void note_duplicate(struct preview_work *work, const struct owned *pair)
{
    size_t skip = work->declaration->name_key.size;
    show_key(work->mem,
             kx_slice(pair->value.data + skip, pair->value.size - skip),
             work->duplicate);
    strcat(work->duplicate, " is in ");
    show_key(work->mem, pair[0].owner, work->duplicate);
    strcat(work->duplicate, " and ");
    show_key(work->mem, pair[1].owner, work->duplicate);
}

static void count_conflicts(struct preview_work *work)
{
    for (size_t i = 1; i < work->key_count; i++) {
        if (!kx_equal(work->keys[i - 1].value, work->keys[i].value))
            continue;
        if (work->preview->conflicts++ == 0)
            note_duplicate(work, &work->keys[i - 1]);
    }
}

/* The groups that `key_count` rows are of, if there are `factor` times as many
 * rows. One that occurs once may stand for others that do not occur; there are
 * between `factor` times as many and none, and the geometric mean of both is
 * never wrong by more than the root of `factor` (the GEE of Charikar,
 * Chaudhuri, Motwani and Narasayya, 2000). */
static double count_groups(const struct preview_work *work, double factor)
{
    double once = 0;
    double more = 0;
    size_t next;
    for (size_t i = 0; i < work->key_count; i = next) {
        next = i + 1;
        while (next < work->key_count &&
               kx_equal(work->keys[i].value, work->keys[next].value))
            next++;
        *(next == i + 1 ? &once : &more) += 1;
    }
    return once * sqrt(factor) + more;
}

static uint64_t scaled(uint64_t number, double factor)
{
    return (uint64_t)((double)number * factor + 0.5);
}

/* No index covers the rows of another; only under an empty prefix do they lie
 * among the rows that are counted. Elsewhere the sampled rows tell whether rows
 * are larger or smaller there than in the rest of the table. */
static uint64_t count_entries(const struct writer *writer,
                              const struct sampling *sample)
{
    double all = (double)catalog_row_count(writer->base.catalog);
    double total = (double)sample->total;
    if (sample->prefix.size == 0)
        return writer->base.catalog->entries;
    if (sample->share > 0)
        total *= (double)sample->rows / (sample->share * all);
    return (uint64_t)(total < all ? total : all);
}

/* What a row of the sample stands for among the rows of the index. */
static double growth_of_rows(const struct preview_work *work, double factor)
{
    double rows = (double)work->preview->entries;
    if (!declaration_aggregates(work->declaration) || work->key_count == 0)
        return factor;
    /* More rows were sampled than keys were kept. */
    double unkept = rows / (double)work->key_count;
    return count_groups(work, factor * unkept) / rows;
}

/* From the sample to the whole. */
static void extrapolate(struct preview_work *work, uint64_t total)
{
    struct kx_preview *preview = work->preview;
    double factor = 1;
    if (!preview->exact && preview->read > 0 && total > preview->read)
        factor = (double)total / (double)preview->read;
    double growth = growth_of_rows(work, factor);
    preview->covered = scaled(preview->sampled, factor);
    preview->skipped = scaled(preview->skipped, factor);
    preview->entries = scaled(preview->entries, growth);
    preview->bytes = scaled(preview->bytes, growth * 100 / PAGE_FILL_PERCENT);
    preview->conflicts = scaled(preview->conflicts, factor * factor);
    if (preview->conflicts > preview->entries)
        preview->conflicts = preview->entries;
    preview->seconds = (scaled(preview->read, factor) + preview->entries) /
                       (double)ENTRIES_PER_SECOND;
}

static void warn_all(const struct preview_work *work, bool declared,
                     struct kx_buffer *out)
{
    const struct kx_preview *preview = work->preview;
    kx_add_byte(out, '[');
    if (declared)
        path_survey_note(
            out, "the same index is already declared: nothing would change");
    if (preview->sampled == 0)
        path_survey_note(out,
                         "there are no entries that the index would cover%s",
                         preview->read == 0 ? "" : " among those sampled");
    if (preview->sampled > 0 && work->excluded == preview->sampled)
        path_survey_note(
            out, "where matches none of the %" PRIu64 " sampled entries",
            preview->sampled);
    path_survey_warn(&work->survey, out);
    if (work->refused > 0)
        path_survey_note(
            out,
            "%" PRIu64 " of %" PRIu64
            " sampled entries cannot be indexed, and the build would fail: "
            "%s",
            work->refused, preview->sampled, work->refusal);
    if (preview->conflicts > 0)
        path_survey_note(out, "the index is unique, but %s", work->duplicate);
    kx_add_byte(out, ']');
}

static enum kx_status finish(struct preview_work *work,
                             struct kx_commit *commit, bool declared)
{
    struct kx_buffer warnings;
    kx_buffer_init(&warnings, commit->memory);
    warn_all(work, declared, &warnings);
    work->preview->warnings = kx_buffer_slice(&warnings);
    work->preview->declaration = copy(commit->memory, work->declaration->text);
    commit->preview = work->preview;
    return warnings.failed || work->preview->declaration.size == 0
               ? KX_NO_MEMORY
               : KX_OK;
}

/* Allocated under talloc context mem; NULL when memory ran out. */
static struct preview_work *make_work(void *mem, struct kx_commit *commit,
                                      const struct declaration *declaration)
{
    struct preview_work *work = talloc_zero(mem, struct preview_work);
    if (work == NULL)
        return NULL;
    work->mem = mem;
    work->declaration = declaration;
    work->preview = talloc_zero(commit->memory, struct kx_preview);
    work->keys = talloc_array(mem, struct owned, KEYS_MAX);
    extract_init(&work->extract, mem);
    kx_buffer_init(&work->record, mem);
    path_survey_init(&work->survey, mem, declaration);
    return work->preview == NULL || work->keys == NULL ? NULL : work;
}

/* Estimates the number of entries with the prefix. */
static enum kx_status estimate_total(struct writer *writer, void *mem,
                                     struct sampling *sample)
{
    struct kx_buffer end;
    kx_buffer_init(&end, mem);
    kx_add_slice(&end, sample->prefix);
    kx_add_byte(&end, 0xff);
    if (end.failed)
        return KX_NO_MEMORY;
    sample->total =
        declare_preview_range(writer, sample->prefix, kx_buffer_slice(&end));
    return KX_OK;
}

enum kx_status declare_preview_index(struct writer *writer,
                                     struct kx_commit *commit,
                                     const struct declaration *declaration,
                                     bool declared)
{
    void *mem = talloc_new(NULL);
    struct preview_work *work =
        mem == NULL ? NULL : make_work(mem, commit, declaration);
    struct sampling sample = {
        .prefix = declaration->prefix, .take = take, .context = work};
    enum kx_status status =
        work == NULL ? KX_NO_MEMORY : estimate_total(writer, mem, &sample);
    if (status == KX_OK) {
        work->sampling = &sample;
        status = entry_sample_entries(writer, &sample);
    }
    if (status == KX_OK) {
        work->preview->exact = sample.all;
        qsort(work->keys, work->key_count, sizeof work->keys[0], by_value);
        if (declaration->unique)
            count_conflicts(work);
        extrapolate(work, count_entries(writer, &sample));
        status = finish(work, commit, declared);
    }
    talloc_free(mem);
    return status;
}
