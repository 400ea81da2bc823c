/* Each sampled entry is indexed as in a build. The rows give the size of the
 * index and, if it is unique, the values that occur twice. A sample of one
 * entry in n has one of n * n pairs that share a value. The rows of an index of
 * totals are added up in one row for each group. */
#include "read/declare_preview.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "engine/engine.h"
#include "schema/extract.h"

/* ---- The sample --------------------------------------------------------- */

/* A bounded sample of the entries with a prefix: all of them if they are few,
 * otherwise runs of neighbours at places spread over their keys. */

/* A sample blocks the writer, so its cost in bytes is limited, too. */
enum { ENTRY_SAMPLE_MAX = 2000, ENTRY_SAMPLE_COST_MAX = 16 << 20 };

/* Called with each sampled entry in key order, with none twice; the slices are
 * valid until it returns. A result other than KX_OK ends the sample. */
typedef enum kx_status entry_sample_fn(void *context, struct kx_slice key,
                                       const struct record *record);

struct sampling {
    struct kx_slice prefix; /* encoded parts */
    uint64_t total;         /* estimated number of entries */
    entry_sample_fn *take;
    void *context;
    uint64_t cost; /* bytes read; `take` may add the cost of its work */
    /* Result. */
    bool all;      /* every entry was visited */
    uint64_t rows; /* read, those of indexes included */
    double share;  /* share of the table that these rows take; 0: unknown */
};

/* Where the runs of a sample begin: the first and the last key are read as long
 * numbers, and the places lie evenly between them. If keys are not spread
 * evenly, places coincide; a run then begins where the previous one ended. */

enum { PLACES = 40, DIGITS = 8 };

struct walk {
    struct writer *writer;
    struct sampling *sample;
    int64_t now_ms;
    struct kx_buffer start; /* of the next run */
    struct kx_buffer end;   /* of the prefix */
    struct kx_buffer first; /* key of the first row, and of the last */
    struct kx_buffer last;
};

static enum kx_status give(struct walk *walk, struct kx_slice key,
                           struct kx_slice bytes)
{
    struct record record;
    struct sampling *sample = walk->sample;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (record.index != 0 || record_expired(&record, walk->now_ms))
        return KX_OK;
    sample->cost += bytes.size;
    return sample->take(sample->context, key, &record);
}

static bool exhausted(const struct walk *walk)
{
    return walk->sample->cost >= ENTRY_SAMPLE_COST_MAX;
}

/* Adds a run of `rows` rows that ended before `next`. */
static void count_run(struct walk *walk, uint64_t rows, struct kx_slice next)
{
    struct sampling *sample = walk->sample;
    sample->rows += rows;
    sample->share += engine_share(walk->writer->base.view, TABLE_ENTRIES,
                                  kx_buffer_slice(&walk->start), next);
}

/* Takes up to `count` rows from walk->start on, and moves it after the last
 * one. KX_END: the range has ended. */
static enum kx_status take_run(struct walk *walk, size_t count)
{
    struct engine_range *range = walk->writer->base.range;
    struct kx_slice key = kx_slice(NULL, 0);
    struct kx_slice bytes;
    struct kx_buffer next;
    kx_buffer_init(&next, walk->start.owner);
    enum kx_status status = engine_range_begin(
        range, kx_buffer_slice(&walk->start), kx_buffer_slice(&walk->end));
    size_t i = 0;
    for (; status == KX_OK && i < count && !exhausted(walk); i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = give(walk, key, bytes);
    }
    if (status == KX_OK) {
        kx_add_slice(&next, key);
        kx_add_byte(&next, 0);
    }
    engine_range_end(range);
    if (status == KX_OK && !next.failed)
        count_run(walk, i, kx_buffer_slice(&next));
    kx_buffer_free(&walk->start);
    walk->start = next;
    return next.failed ? KX_NO_MEMORY : status;
}

/* Replaces out by the first row's key, or the last's. */
static enum kx_status find_end(struct walk *walk, bool reverse,
                               struct kx_buffer *out)
{
    struct engine_range *range = walk->writer->base.range;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status =
        engine_range_begin_either(range, kx_buffer_slice(&walk->start),
                                  kx_buffer_slice(&walk->end), reverse);
    if (status == KX_OK)
        status = engine_range_next(range, &key, &bytes);
    if (status == KX_OK)
        kx_add_slice(out, key);
    engine_range_end(range);
    return status == KX_OK && out->failed ? KX_NO_MEMORY : status;
}

/* Returns the bytes of a key from `at` on, as a number. */
static uint64_t number_at(const struct kx_buffer *key, size_t at)
{
    uint64_t number = 0;
    for (size_t i = 0; i < DIGITS; i++)
        number = number << 8 | (at + i < key->size ? key->data[at + i] : 0);
    return number;
}

/* Moves walk->start forward to the n-th place, never back. */
static void go_to(struct walk *walk, size_t n)
{
    size_t common = 0;
    while (common < walk->first.size && common < walk->last.size &&
           walk->first.data[common] == walk->last.data[common])
        common++;
    uint64_t from = number_at(&walk->first, common);
    uint64_t to = number_at(&walk->last, common);
    uint64_t place = from + (to - from) / PLACES * n;
    uint8_t key[ROW_KEY_MAX + DIGITS];
    if (common > ROW_KEY_MAX)
        return;
    memcpy(key, walk->first.data, common);
    for (size_t i = 0; i < DIGITS; i++)
        key[common + i] = (uint8_t)(place >> (56 - 8 * i));
    struct kx_slice start = kx_slice(key, common + DIGITS);
    if (kx_compare(start, kx_buffer_slice(&walk->start)) <= 0)
        return;
    walk->start.size = 0;
    kx_add_slice(&walk->start, start);
}

static enum kx_status take_runs(struct walk *walk)
{
    enum kx_status status = find_end(walk, false, &walk->first);
    if (status == KX_OK)
        status = find_end(walk, true, &walk->last);
    for (size_t n = 0; status == KX_OK && n < PLACES && !exhausted(walk); n++) {
        go_to(walk, n);
        status = walk->start.failed ? KX_NO_MEMORY
                                    : take_run(walk, ENTRY_SAMPLE_MAX / PLACES);
    }
    return status;
}

/* Calls `take` with at most ENTRY_SAMPLE_MAX clients' entries that have not
 * expired. KX_OK, the error of `take`, KX_NO_MEMORY, KX_FAILED. */
static enum kx_status entry_sample_entries(struct writer *writer,
                                           struct sampling *sample)
{
    void *mem = talloc_new(NULL);
    struct walk walk = {
        .writer = writer, .sample = sample, .now_ms = kx_now_ms()};
    if (mem == NULL)
        return KX_NO_MEMORY;
    kx_buffer_init(&walk.start, mem);
    kx_buffer_init(&walk.end, mem);
    kx_buffer_init(&walk.first, mem);
    kx_buffer_init(&walk.last, mem);
    kx_add_slice(&walk.start, sample->prefix);
    kx_add_byte(&walk.start, 0);
    kx_add_slice(&walk.end, sample->prefix);
    kx_add_byte(&walk.end, 0xff);
    bool few = sample->total <= ENTRY_SAMPLE_MAX / 2;
    enum kx_status status = KX_NO_MEMORY;
    if (!walk.start.failed && !walk.end.failed)
        status = few ? take_run(&walk, ENTRY_SAMPLE_MAX) : take_runs(&walk);
    sample->all = few && status == KX_END;
    talloc_free(mem);
    return status == KX_END ? KX_OK : status;
}

/* ---- Paths -------------------------------------------------------------- */

/* Which paths of a declaration occur in the sample, and the likely spelling of
 * those that do not. */

enum {
    PATH_SURVEY_PATHS_MAX =
        KX_FIELDS_MAX + KX_STORED_MAX + KX_SUMS_MAX + KX_WHERE_MAX
};

struct path_survey_path {
    struct kx_slice path;
    const char *role;      /* "the field" */
    uint64_t found;        /* number of documents that have the path */
    struct kx_slice meant; /* the nearest member's name there, or empty */
    size_t distance;
};

struct path_survey {
    void *mem; /* talloc context of what is found */
    uint64_t documents;
    struct path_survey_path paths[PATH_SURVEY_PATHS_MAX];
    size_t count;
};

/* A path that leads nowhere often has a spelling error, so its last name is
 * compared with the members that the document has there. */

/* COMPARED_MAX: documents in which the nearest name is looked for. */
enum { COMPARED_MAX = 200, SHOWN = 120 };

/* A path is named once, in the first of its roles. */
static void watch(struct path_survey *survey, struct kx_slice path,
                  const char *role)
{
    for (size_t i = 0; i < survey->count; i++)
        if (kx_equal(survey->paths[i].path, path))
            return;
    survey->paths[survey->count++] = (struct path_survey_path){
        .path = path, .role = role, .distance = KX_NEAR + 1};
}

/* Begins a survey of all paths of a declaration, which must live as long as the
 * survey. */
static void path_survey_init(struct path_survey *survey, void *mem,
                             const struct declaration *declaration)
{
    *survey = (struct path_survey){.mem = mem};
    for (size_t i = 0; i < declaration->field_count; i++)
        if (field_of_value(&declaration->fields[i]))
            watch(survey, declaration->fields[i].path, "the field");
    for (size_t i = 0; i < declaration->stored_count; i++)
        watch(survey, declaration->stored[i], "the stored member");
    for (size_t i = 0; i < declaration->sum_count; i++)
        if (declaration->sums[i].path.size > 0) /* or it sums up counters */
            watch(survey, declaration->sums[i].path, "the summed number");
    for (size_t i = 0; i < declaration->where_count; i++)
        if (declaration->where[i].comparison != WHERE_EXISTS)
            watch(survey, declaration->where[i].path, "the condition's path");
}

/* Splits a path into its last token and the path before it. */
static struct kx_slice parent_of(struct kx_slice path,
                                 struct kx_slice *last_out)
{
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    *last_out = kx_slice(path.data + at, path.size - at);
    return kx_slice(path.data, at == 0 ? 0 : at - 1);
}

static void note_meant(struct path_survey *survey,
                       struct path_survey_path *path, struct kx_slice name)
{
    struct kx_buffer copy;
    kx_buffer_init(&copy, survey->mem);
    kx_add_slice(&copy, name);
    path->meant = kx_buffer_slice(&copy);
}

/* Names are compared as they are written, which is how they are shown. */
static void compare_names(struct path_survey *survey,
                          struct path_survey_path *path,
                          struct kx_slice document)
{
    struct kx_slice last;
    struct kx_slice object;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    struct kx_slice parent = parent_of(path->path, &last);
    if (path->path.size == 0 || !kx_json_find(document, parent, &object) ||
        !kx_json_iterate(object, &iter) || !iter.object)
        return;
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice body = kx_slice(name.data + 1, name.size - 2);
        if (memchr(body.data, '\\', body.size) == NULL &&
            kx_resembles(last, body, &path->distance))
            note_meant(survey, path, body);
    }
}

/* Looks for the paths in one more document (checked JSON; size 0 for a value
 * that has no members). Findings for which memory runs out are not noted. */
static void path_survey_add(struct path_survey *survey,
                            struct kx_slice document)
{
    struct kx_slice value;
    survey->documents++;
    for (size_t i = 0; document.size > 0 && i < survey->count; i++) {
        struct path_survey_path *path = &survey->paths[i];
        if (kx_json_find(document, path->path, &value))
            path->found++;
        else if (path->found == 0 && survey->documents <= COMPARED_MAX)
            compare_names(survey, path, document);
    }
}

/* Appends one more JSON string, formatted, to a list of them. */
static void path_survey_note(struct kx_buffer *out, const char *format, ...)
{
    char text[KX_DETAIL_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (out->size > 0 && out->data[out->size - 1] != '[')
        kx_add_byte(out, ',');
    kx_json_escape(kx_text(text), out);
}

/* Shows the probable name as a path that can be copied. */
static void warn(const struct path_survey *survey,
                 const struct path_survey_path *path, struct kx_buffer *out)
{
    struct kx_slice last;
    struct kx_slice parent = parent_of(path->path, &last);
    bool meant =
        path->meant.size > 0 && path->meant.size < SHOWN && parent.size < SHOWN;
    bool cut = path->path.size > SHOWN;
    path_survey_note(out,
                     "%s %.*s%s was found in none of the %" PRIu64
                     " sampled entries%s%.*s%s%.*s%s",
                     path->role, (int)(cut ? 0 : path->path.size),
                     (const char *)path->path.data, cut ? "(a long path)" : "",
                     survey->documents, meant ? "; did you mean " : "",
                     (int)(meant ? parent.size : 0), (const char *)parent.data,
                     meant ? "/" : "", (int)(meant ? path->meant.size : 0),
                     (const char *)path->meant.data, meant ? "?" : "");
}

/* Appends a JSON string for each path that was found in no document, with
 * commas between them and after what is in out. */
static void path_survey_warn(const struct path_survey *survey,
                             struct kx_buffer *out)
{
    for (size_t i = 0; survey->documents > 0 && i < survey->count; i++)
        if (survey->paths[i].found == 0)
            warn(survey, &survey->paths[i], out);
}

enum {
    KEYS_MAX = 20000, /* values of a unique index, or groups, to compare */
    ROW_COST = 200, /* cost of making a row, in bytes that could be read in the
                     * same time */
    ROW_BYTES = 12, /* what a row takes beside key and record */
    PAGE_FILL_PERCENT = 70,      /* of a page is used when a build is done */
    ENTRIES_PER_SECOND = 400000, /* read, or written, by a build */
    KEY_SHOWN = 120,             /* bytes of a key in a warning */
    DETAIL_SHOWN = 240,
    TEXT_MAX = 400 /* three keys, or a key and a detail */
};

/* ---- The preview -------------------------------------------------------- */

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

static bool keep_key(struct preview_work *work, struct kx_slice index_key,
                     struct kx_slice owner)
{
    if (declaration_ends_in_owner(work->declaration) ||
        work->key_count == KEYS_MAX)
        return true;
    struct owned *kept = &work->keys[work->key_count++];
    return kx_slice_copy(work->mem, index_key, &kept->value) &&
           kx_slice_copy(work->mem, owner, &kept->owner);
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

static void note_left_out(struct kx_preview *preview,
                          const struct extract *extract)
{
    if (extract->count == 0)
        preview->left_out[extract_left_out(extract)]++;
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
    note_left_out(work->preview, &work->extract);
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

/* Estimates the number of groups if there are `factor` times as many rows as
 * the `key_count` sampled ones. A group that occurs once in the sample may
 * represent others that do not occur; there are between `factor` times as many
 * and none, and the geometric mean of both is never wrong by more than the root
 * of `factor` (the GEE of Charikar, Chaudhuri, Motwani and Narasayya, 2000). */
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

/* Estimates how many entries the index covers. Under an empty prefix these are
 * all entries. Under another prefix the number follows from its share of the
 * table, corrected by the size of the sampled rows. */
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

/* Returns for how many rows of the index a row of the sample stands. */
static double growth_of_rows(const struct preview_work *work, double factor)
{
    double rows = (double)work->preview->entries;
    if (!declaration_aggregates(work->declaration) || work->key_count == 0)
        return factor;
    /* More rows were sampled than keys were kept. */
    double unkept = rows / (double)work->key_count;
    return count_groups(work, factor * unkept) / rows;
}

/* Estimates the whole index from the sample. */
static void extrapolate(struct preview_work *work, uint64_t total)
{
    struct kx_preview *preview = work->preview;
    double factor = 1;
    if (!preview->exact && preview->read > 0 && total > preview->read)
        factor = (double)total / (double)preview->read;
    double growth = growth_of_rows(work, factor);
    preview->covered = scaled(preview->sampled, factor);
    preview->skipped = scaled(preview->skipped, factor);
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++)
        preview->left_out[reason] = scaled(preview->left_out[reason], factor);
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
    commit->preview = work->preview;
    return !warnings.failed &&
                   kx_slice_copy(commit->memory, work->declaration->text,
                                 &work->preview->declaration)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Allocates the text under talloc context mem. NULL: memory ran out. */
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
