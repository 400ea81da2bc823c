/* Explanations inside a view: each declared index, the entries themselves, and
 * the index that would answer the query. */
#include <stdio.h>
#include <talloc.h>

#include "engine/engine.h"
#include "kindex/aggregate.h"
#include "read/index_advice.h"
#include "read/index_match.h"
#include "read/reader_state.h"
#include "schema/declaration_parse.h"

/* ---- Estimates ---------------------------------------------------------- */

/* The size of a range without reading all of it: a bounded number of rows is
 * read, and the number of the others is estimated from the shape of the tree.
 */

enum {
    SAMPLE = 64, /* rows read from each end of an index to tell their size */
    BYTES_MAX = 1 << 20 /* of KX_PAGE_MAX rows; other threads wait meanwhile */
};

struct tally {
    uint64_t rows;
    uint64_t bytes;
    bool all; /* every row of the range was read */
};

/* Adds the rows within the reader's bounds: at most `most`, and fewer if they
 * are large. The key of the last one is then in reader->bound. */
static enum kx_status take_tally(struct kx_reader *reader, bool reverse,
                                 uint64_t most, struct tally *tally)
{
    struct kx_slice key;
    struct kx_slice row;
    enum kx_status status =
        engine_range_begin_either(reader->rows, kx_buffer_slice(&reader->start),
                                  kx_buffer_slice(&reader->end), reverse);
    uint64_t bytes = tally->bytes + BYTES_MAX / KX_PAGE_MAX * most;
    for (uint64_t i = 0; status == KX_OK && i < most && tally->bytes < bytes;
         i++) {
        status = engine_range_next(reader->rows, &key, &row);
        if (status != KX_OK)
            break;
        tally->rows++;
        tally->bytes += key.size + row.size;
        reader->bound.size = 0;
        kx_add_slice(&reader->bound, key);
    }
    engine_range_end(reader->rows);
    tally->all = status == KX_END;
    return status == KX_END ? KX_OK : status;
}

/* The rows of [start, end), of which the first `counted`, up to `last`, were
 * counted. Rows may be larger or smaller than elsewhere, so the share of the
 * tree that the counted rows take is used as the measure. */
static uint64_t estimate_rows(struct kx_reader *reader, struct kx_slice start,
                              struct kx_slice end, struct kx_slice last,
                              uint64_t counted)
{
    double all = (double)catalog_row_count(reader->store->catalog);
    double share = engine_share(reader->view, TABLE_ENTRIES, start, end);
    double read = engine_share(reader->view, TABLE_ENTRIES, start, last);
    double rows = share * (read > 0 ? (double)counted / read : all);
    if (rows > all)
        rows = all;
    return rows > (double)counted ? (uint64_t)rows : counted;
}

uint64_t reader_estimate_under(struct kx_reader *reader, size_t size,
                               uint64_t counted)
{
    struct kx_slice last = kx_buffer_slice(&reader->position);
    struct kx_slice start = kx_buffer_slice(&reader->start);
    struct kx_slice end = kx_buffer_slice(&reader->end);
    struct kx_buffer *bound = &reader->bound;
    if (reader->index != NULL)
        size += reader->index->declaration->name_key.size;
    struct kx_slice first = kx_slice(last.data, size);
    kx_buffer_clear(bound);
    kx_add_slice(bound, first);
    kx_add_byte(bound, 0xff);
    if (bound->failed)
        return counted;
    if (kx_compare(first, start) > 0)
        start = first;
    if (end.size == 0 || kx_compare(kx_buffer_slice(bound), end) < 0)
        end = kx_buffer_slice(bound);
    return estimate_rows(reader, start, end, last, counted);
}

/* Sets the reader's bounds; *name_out is the index's name, which they begin
 * with. */
static enum kx_status find_bounds(struct kx_reader *reader,
                                  struct kx_slice index,
                                  const struct kx_range *range,
                                  struct kx_slice *name_out,
                                  struct kx_fault *fault)
{
    *name_out = kx_slice(NULL, 0);
    if (index.size != 0) {
        struct index *found;
        if (catalog_get(reader->store->catalog, index, &found, fault) != KX_OK)
            return KX_INDEX_ABSENT;
        *name_out = found->declaration->name_key;
    }
    kx_scan_end(reader);
    reader_bounds(reader, *name_out, range);
    return reader->start.failed || reader->end.failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_find_share(struct kx_reader *reader, struct kx_slice index,
                             const struct kx_range *range, double share,
                             struct kx_buffer *bound_out)
{
    struct kx_slice name;
    struct kx_buffer *key = &reader->bound;
    enum kx_status status = find_bounds(reader, index, range, &name, NULL);
    struct engine_place place = {.start = kx_buffer_slice(&reader->start),
                                 .end = kx_buffer_slice(&reader->end),
                                 .share = share};
    if (status == KX_OK)
        status = engine_find_share(reader->view, TABLE_ENTRIES, &place, key);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(bound_out);
    kx_add(bound_out, key->data + name.size, key->size - name.size);
    return bound_out->failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_estimate(struct kx_reader *reader, struct kx_slice index,
                           const struct kx_range *range,
                           struct kx_estimate *estimate, struct kx_fault *fault)
{
    struct tally tally = {0};
    struct kx_slice name;
    enum kx_status status = find_bounds(reader, index, range, &name, fault);
    if (status == KX_OK)
        status = take_tally(reader, false, estimate->most, &tally);
    estimate->rows = tally.rows;
    estimate->exact = status != KX_OK || tally.all;
    if (estimate->exact)
        return status;
    estimate->rows = estimate_rows(reader, kx_buffer_slice(&reader->start),
                                   kx_buffer_slice(&reader->end),
                                   kx_buffer_slice(&reader->bound), tally.rows);
    return KX_OK;
}

/* Samples both ends, because values of one type may be longer than others. */
static enum kx_status row_bytes(struct kx_reader *reader,
                                const struct index *index, double *bytes_out)
{
    struct kx_range all = {.reverse = false};
    struct tally tally = {0};
    reader_bounds(reader, index->declaration->name_key, &all);
    if (reader->start.failed || reader->end.failed)
        return KX_NO_MEMORY;
    enum kx_status status = take_tally(reader, false, SAMPLE, &tally);
    if (status == KX_OK && !tally.all)
        status = take_tally(reader, true, SAMPLE, &tally);
    *bytes_out = tally.rows == 0 ? 0 : (double)tally.bytes / (double)tally.rows;
    return status;
}

enum kx_status kx_index_bytes(struct kx_reader *reader, struct kx_slice name,
                              uint64_t *bytes_out)
{
    struct index *index = catalog_find(reader->store->catalog, name);
    enum kx_status status = KX_OK;
    uint64_t now_ns = kx_monotonic_ns();
    double bytes = 0;
    if (index == NULL)
        return KX_INDEX_ABSENT;
    kx_scan_end(reader);
    if (!index_usage_row_bytes(&index->usage, now_ns, &bytes)) {
        status = row_bytes(reader, index, &bytes);
        if (status == KX_OK && bytes > 0)
            index_usage_keep_row_bytes(&index->usage, now_ns, bytes);
    }
    *bytes_out = (uint64_t)(bytes * (double)index->entries);
    return status;
}

enum { NAMES_MAX = KX_INDEXES_MAX + 1 }; /* that are tried for an index */

static const struct {
    const char *code;
    const char *text;
} mismatches[KX_MISMATCH_COUNT] = {
    [KX_MISMATCH_NOT_READY] = {"not-ready", "It is not ready: see its state."},
    [KX_MISMATCH_OTHER_PREFIX] = {"other-prefix",
                                  "It covers entries under another prefix."},
    [KX_MISMATCH_COVERS_MORE] =
        {"covers-more", "Its prefix is shorter: it covers other entries "
                        "as well."},
    [KX_MISMATCH_COVERS_LESS] = {"covers-less",
                                 "Its prefix is longer: it covers only some of "
                                 "the entries."},
    [KX_MISMATCH_OTHER_DEPTH] =
        {"other-depth", "It covers keys with another number of parts."},
    [KX_MISMATCH_TOTALS] = {"totals",
                            "It holds totals of groups, not entries."},
    [KX_MISMATCH_PARTIAL] =
        {"partial", "Its `where` leaves out entries that the query asks for."},
    [KX_MISMATCH_LEAVES_OUT] =
        {"leaves-out",
         "It leaves out entries that the query asks for: those without a value "
         "that can be indexed for one of its fields, or with one too long for "
         "a key."},
    [KX_MISMATCH_REPEATS] = {"repeats",
                             "It has a field with `each`, so it has an entry "
                             "several times, once for each element."},
    [KX_MISMATCH_FOLDS] =
        {"folds", "A field is folded in another way than its condition."},
    [KX_MISMATCH_UNUSED] = {"first-field-unused",
                            "No condition and no order uses its first field."},
    [KX_MISMATCH_CONDITIONS] =
        {"conditions-left",
         "Its order cannot answer the conditions in `left`."},
    [KX_MISMATCH_ORDER] = {"other-order", "Its entries have another order."},
    [KX_MISMATCH_NULLS] = {"nulls",
                           "It has entries without a value for a field of the "
                           "order, too."},
    [KX_MISMATCH_TOMBSTONES] = {"tombstones",
                                "It has tombstones of removed entries, too."},
};

const char *kx_mismatch_code(enum kx_mismatch mismatch)
{
    return mismatches[mismatch].code;
}

const char *kx_mismatch_text(enum kx_mismatch mismatch)
{
    return mismatches[mismatch].text;
}

bool kx_query_condition_plain(const struct kx_query *query, size_t n)
{
    return index_match_is_plain(&query->asked->where[n]);
}

static enum kx_status refuse_cost(const struct kx_query *query,
                                  struct kx_fault *fault)
{
    enum kx_status status = kx_fail(
        fault, KX_BAD_INDEX,
        "the conditions have %zu values, which are too many to be compared "
        "with each index: their bytes, times the indexes, are limited to %d",
        index_match_values(query->asked), KX_MATCH_MAX);
    if (fault != NULL)
        snprintf(fault->pointer, sizeof fault->pointer, "/where");
    return status;
}

/* Returns whether the index has all stored entries that meet its `where`. Never
 * true for a field with `each`: single elements may be left out, which are not
 * counted. */
static bool has_all_entries(const struct index *index)
{
    if (index->left_out_unknown || index->declaration->has_each)
        return false;
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++)
        if (reason != KX_LEFT_OUT_WHERE && index->left_out[reason] != 0)
            return false;
    return true;
}

static void forgive_left_out(const struct index *index,
                             struct kx_index_match *match)
{
    if (match->may_leave_out && has_all_entries(index))
        match->mismatches &= ~(1u << KX_MISMATCH_LEAVES_OUT);
}

enum kx_status kx_index_match_at(struct kx_reader *reader,
                                 struct kx_query *query, size_t n,
                                 struct kx_index_match *match_out,
                                 struct kx_fault *fault)
{
    const struct index *index = catalog_at(reader->store->catalog, n);
    if (index == NULL)
        return KX_END;
    query->compared += index_match_cost(index->declaration, query);
    if (query->compared > KX_MATCH_MAX)
        return refuse_cost(query, fault);
    enum kx_status status =
        index_match_make(query, index->declaration, query, match_out);
    forgive_left_out(index, match_out);
    match_out->index = index->declaration->name;
    /* In the query, 0 also means -0. */
    if (!index_readable(index) || index->declaration->signed_zero)
        match_out->mismatches |= 1u << KX_MISMATCH_NOT_READY;
    return status;
}

enum kx_status kx_index_match_entries(struct kx_query *query,
                                      struct kx_index_match *match_out)
{
    return index_match_entries(query, query, match_out);
}

/* Finds out whether entries have keys that begin with this part. KX_OK, or
 * KX_END if none has. */
static enum kx_status find_entries(void *mem, struct kx_reader *reader,
                                   struct kx_slice part)
{
    struct kx_entry entry;
    struct kx_buffer end;
    kx_buffer_init(&end, mem);
    kx_add_slice(&end, part);
    kx_add_byte(&end, 0xff);
    struct kx_range range = {.start = part, .end = kx_buffer_slice(&end)};
    enum kx_status status =
        end.failed ? KX_NO_MEMORY : kx_scan(reader, &range, NULL);
    if (status == KX_OK)
        status = kx_scan_next(reader, &entry);
    kx_scan_end(reader);
    kx_buffer_free(&end);
    return status;
}

/* Checks whether the name is in use: by keys that this index would cover or,
 * with `look`, by another index, by keys that another index covers, or by
 * entries. KX_OK if so; KX_END if not. */
static enum kx_status find_owner(void *mem, struct kx_reader *reader,
                                 const struct declaration *declaration,
                                 bool look)
{
    const struct catalog *catalog = reader->store->catalog;
    struct kx_slice key = declaration->name_key;
    if (kx_starts_with(declaration->prefix, key))
        return KX_OK;
    if (!look)
        return KX_END;
    if (catalog_find(catalog, declaration->name) != NULL)
        return KX_OK;
    for (size_t i = 0; i < catalog->count; i++)
        if (kx_starts_with(catalog->indexes[i]->declaration->prefix, key))
            return KX_OK;
    return find_entries(mem, reader, key);
}

/* Finds the first free name. Each index can occupy one name; clients' entries
 * rarely occupy more than the first ones. */
static enum kx_status choose_name(struct kx_reader *reader,
                                  struct declaration *declaration,
                                  bool check_name)
{
    struct kx_buffer name;
    struct kx_buffer key;
    kx_buffer_init(&name, declaration);
    kx_buffer_init(&key, declaration);
    enum kx_status status = KX_OK;
    for (unsigned n = 1; status == KX_OK && n <= NAMES_MAX; n++) {
        index_advice_name(declaration, n, &name);
        declaration->name = kx_buffer_slice(&name);
        key.size = 0;
        kx_key_add_string(&key, declaration->name);
        declaration->name_key = kx_buffer_slice(&key);
        if (name.failed || key.failed)
            return KX_NO_MEMORY;
        status = find_owner(declaration, reader, declaration, check_name);
    }
    if (status == KX_END)
        return KX_OK;
    return status == KX_OK ? KX_ABSENT : status;
}

/* Appends the declaration, with a name. */
static enum kx_status write_advice(struct kx_reader *reader,
                                   struct declaration *declaration,
                                   bool check_name, struct kx_buffer *out)
{
    enum kx_status status = KX_OK;
    if (catalog_owner(reader->store->catalog, declaration->prefix) != NULL)
        status = KX_ABSENT; /* entries of an index are not indexed */
    if (status == KX_OK)
        status = choose_name(reader, declaration, check_name);
    if (status == KX_OK)
        status = declaration_write(declaration);
    if (status == KX_OK)
        kx_add_slice(out, declaration->text);
    return status;
}

enum kx_status kx_advise(struct kx_reader *reader, const struct kx_query *query,
                         bool check_name, struct kx_buffer *out)
{
    struct declaration *declaration = NULL;
    void *mem = talloc_new(NULL);
    enum kx_status status = mem == NULL
                                ? KX_NO_MEMORY
                                : index_advice_make(mem, query, &declaration);
    if (status == KX_OK)
        status = write_advice(reader, declaration, check_name, out);
    talloc_free(mem);
    return status;
}

enum kx_status kx_advise_count(struct kx_reader *reader,
                               const struct kx_query *query, bool check_name,
                               struct kx_buffer *out)
{
    struct declaration *declaration = NULL;
    void *mem = talloc_new(NULL);
    enum kx_status status = mem == NULL
                                ? KX_NO_MEMORY
                                : index_advice_count(mem, query, &declaration);
    if (status == KX_OK)
        status = write_advice(reader, declaration, check_name, out);
    talloc_free(mem);
    return status;
}
