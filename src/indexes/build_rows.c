/* Gathering index entries of one index.
 *
 * Between the steps of a sweep commits continue, and keep the index up to date
 * for the entries they change. The rows that the round has made of such an
 * entry are outdated: adding them could bring back a value that the entry no
 * longer has. So the keys that commits touch are noted from the sweep's
 * beginning, and rows whose owner is among them are left out when they are
 * taken: the commit has written the right row, or none. */
#include "indexes/build_rows.h"

#include <stdio.h>
#include <talloc.h>

#include "schema/extract.h"
#include "catalog/row_form.h"
#include "commit/job.h"
#include "plan/plan_refuse.h"
#include "indexes/row_sorter.h"
#include "commit/touched_keys.h"

struct build_rows {
    struct index *index;
    /* How far the build has come with what is read here. */
    struct build_progress build;
    struct kx_slice from;
    struct kx_buffer to;
    bool complete;
    struct throttle pace;
    struct row_sorter *sorter;
    struct txn_write *taken; /* what build_rows_take has given */
    size_t taken_capacity;
    const struct passage *passage;
    struct extract extract;
    struct kx_fault failure; /* its status KX_OK: none */
    struct kx_buffer key;    /* scratch */
    struct kx_buffer record;
};

void build_rows_stretch(const struct index *index, struct kx_slice *from_out,
                        struct kx_buffer *to_out)
{
    const struct build_progress *build = &index->build;
    struct kx_slice prefix = index->declaration->prefix;
    *from_out = build->resume_size == 0
                    ? prefix
                    : kx_slice(build->resume, build->resume_size);
    to_out->size = 0;
    if (build->wrapped) {
        kx_add(to_out, build->origin, build->origin_size);
        kx_add_byte(to_out, 0);
    } else {
        kx_add_slice(to_out, prefix);
        kx_add_byte(to_out, 0xff);
    }
}

static void remember(uint8_t *place, size_t *size, struct kx_slice key)
{
    memcpy(place, key.data, key.size);
    *size = key.size;
}

/* An index that has read nothing yet joins in the middle of what it covers. */
static void join(struct build_rows *round, struct kx_slice start)
{
    struct build_progress *build = &round->build;
    if (build->resume_size != 0 || build->wrapped ||
        kx_compare(start, round->from) <= 0)
        return;
    remember(build->origin, &build->origin_size, start);
    remember(build->resume, &build->resume_size, start);
    round->from = kx_slice(build->resume, build->resume_size);
}

/* The build's rate is measured from its first round in this process. */
static void begin_clock(struct build_progress *build)
{
    if (build->run_started_ns != 0)
        return;
    build->run_started_ns = kx_monotonic_ns();
    build->run_base = build->done;
}

/* Does the passage contain the beginning of what the index has to read? */
static bool lies_in(const struct build_rows *round)
{
    const struct passage *passage = round->passage;
    return kx_compare(round->from, passage->start) >= 0 &&
           kx_compare(round->from, passage->end) < 0 &&
           kx_compare(round->from, kx_buffer_slice(&round->to)) < 0;
}

enum kx_status build_rows_create(void *mem, struct index *index,
                                 const struct passage *passage,
                                 struct build_rows **round_out)
{
    struct build_rows *round = talloc_zero(mem, struct build_rows);
    *round_out = NULL;
    if (round == NULL)
        return KX_NO_MEMORY;
    round->index = index;
    round->build = index->build;
    round->pace = index->pace;
    begin_clock(&round->build);
    round->passage = passage;
    kx_buffer_init(&round->to, round);
    extract_init(&round->extract, round);
    kx_buffer_init(&round->key, round);
    kx_buffer_init(&round->record, round);
    build_rows_stretch(index, &round->from, &round->to);
    join(round, passage->start);
    round->sorter = row_sorter_create(round, index->declaration->name_key.size);
    bool good = round->sorter != NULL && !round->to.failed;
    if (good && lies_in(round))
        *round_out = round;
    else
        talloc_free(round);
    return good ? KX_OK : KX_NO_MEMORY;
}

struct index *build_rows_index(const struct build_rows *round)
{
    return round->index;
}

const struct throttle *build_rows_pace(const struct build_rows *round)
{
    return &round->pace;
}

static enum kx_status add_row(struct build_rows *round, size_t n)
{
    round->record.size = 0;
    enum kx_status status =
        row_form_write(round->index, &round->extract, n, round->passage->stamp,
                       &round->record);
    if (status != KX_OK)
        return status;
    if (!row_sorter_add(round->sorter, extract_key(&round->extract, n),
                        kx_buffer_slice(&round->record)))
        return KX_NO_MEMORY;
    return KX_OK;
}

/* The build has failed because of the first such entry. The others in its sweep
 * are counted, so that all can be corrected before the build begins again. */
static void note_obstacle(struct build_rows *round, struct kx_slice key)
{
    struct kx_buffer why;
    build_progress_skip(&round->build, key);
    if (round->failure.status != KX_OK)
        return;
    struct kx_buffer field;
    kx_buffer_init(&why, round);
    kx_buffer_init(&field, round);
    extract_describe(&round->extract, &why, &field);
    plan_refuse_entry(&round->failure, round, key, kx_buffer_slice(&why));
}

/* Gathers the index entries of one entry. */
static enum kx_status add_entry(struct build_rows *round, struct kx_slice key,
                                const struct record *record)
{
    enum kx_status status =
        extract_keys(&round->extract, round->index->declaration, key, record);
    if (status == KX_NOT_INDEXABLE &&
        record_expired(record, round->passage->now_ms))
        return KX_OK;
    if (status == KX_NOT_INDEXABLE) {
        note_obstacle(round, key);
        return KX_OK;
    }
    if (round->failure.status != KX_OK)
        return status;
    if (round->extract.count == 0 && !round->extract.excluded)
        build_progress_skip(&round->build, key);
    size_t bytes = 0;
    for (size_t n = 0; status == KX_OK && n < round->extract.count; n++) {
        status = add_row(round, n);
        bytes += round->record.size;
        if (bytes > KX_COMMIT_INDEX_BYTES_MAX)
            break;
    }
    if (bytes > KX_COMMIT_INDEX_BYTES_MAX)
        plan_refuse_entry_bytes(&round->failure, round, key);
    return status;
}

/* Does the key lie in what this round is about? */
static bool takes(const struct build_rows *round, struct kx_slice key)
{
    return kx_compare(key, round->from) > 0 &&
           kx_compare(key, kx_buffer_slice(&round->to)) < 0;
}

/* An index is made of clients' entries only. An expired one must not take a
 * unique value from a live one. */
enum kx_status build_rows_add(struct build_rows *round, struct kx_slice key,
                              const struct record *record)
{
    const struct declaration *declaration = round->index->declaration;
    if (!takes(round, key))
        return KX_OK;
    round->build.done++;
    if (!declaration_covers(declaration, key) ||
        (declaration->unique && record_expired(record, round->passage->now_ms)))
        return KX_OK;
    return add_entry(round, key, record);
}

void build_rows_reach(struct build_rows *round, struct kx_slice position,
                      struct kx_slice end)
{
    struct build_progress *build = &round->build;
    struct kx_slice to = kx_buffer_slice(&round->to);
    bool over = end.size != 0 ? kx_compare(to, end) <= 0
                              : kx_compare(position, to) >= 0;
    if (!over) {
        if (kx_compare(position, round->from) > 0)
            remember(build->resume, &build->resume_size, position);
        return;
    }
    round->complete = build->wrapped || build->origin_size == 0;
    build->wrapped = !round->complete;
    build->resume_size = 0;
}

/* Was the entry that this row stands for changed since it was read? */
static bool outdated(struct build_rows *round, const struct txn_write *row)
{
    struct record record;
    round->key.size = 0;
    kx_add_slice(&round->key, round->index->declaration->prefix);
    if (record_read(row->value, &record))
        kx_add_slice(&round->key, record_owner(&record, row->key));
    return touched_keys_has(round->passage->touched,
                            kx_buffer_slice(&round->key));
}

static bool make_room(struct build_rows *round, size_t limit)
{
    if (round->taken_capacity >= limit)
        return true;
    struct txn_write *taken =
        talloc_realloc(round, round->taken, struct txn_write, (unsigned)limit);
    if (taken == NULL)
        return false;
    round->taken = taken;
    round->taken_capacity = limit;
    return true;
}

struct txn_write *build_rows_take(struct build_rows *round, size_t limit,
                                  size_t *count_out)
{
    size_t kept = 0;
    size_t taken = 0;
    size_t bytes = 0;
    if (!make_room(round, limit)) {
        round->key.failed = true;
        return NULL;
    }
    while (taken < limit && bytes < JOB_BYTES_MAX &&
           row_sorter_next(round->sorter, &round->taken[kept])) {
        taken++;
        bytes += round->taken[kept].value.size;
        kept += touched_keys_empty(round->passage->touched) ||
                !outdated(round, &round->taken[kept]);
    }
    *count_out = kept;
    return taken == 0 ? NULL : round->taken;
}

const char *build_rows_failure(const struct build_rows *round)
{
    return round->failure.status != KX_OK ? round->failure.detail : NULL;
}

bool build_rows_failed(const struct build_rows *round)
{
    return round->key.failed || row_sorter_failed(round->sorter);
}

bool build_rows_complete(const struct build_rows *round)
{
    return round->complete;
}

size_t build_rows_rows(const struct build_rows *round)
{
    return row_sorter_count(round->sorter);
}

size_t build_rows_bytes(const struct build_rows *round)
{
    return row_sorter_bytes(round->sorter);
}

const struct build_progress *build_rows_build(const struct build_rows *round)
{
    return &round->build;
}
