/* The budget of a commit, and what an entry costs with its index entries.
 *
 * The cost of index entries follows plan_index.c: each of its passes makes the
 * same keys again, and what changes is a row with its bytes. The cost need not
 * be exact: a change that turns out more expensive is carried out all the same.
 */
#include "plan/plan_cost.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    ROW_HEAD = 40,  /* bytes of a row without key, owner and value */
    V8_GROWTH = 32, /* times that the text of a V8 value may be larger */
    LEVELS = 8      /* of a path, for the bound */
};

/* One change, or one entry that is new. */
struct cost {
    const struct catalog *catalog;
    struct extract *before; /* NULL: there was no entry */
    struct extract *now;
    struct charge reading; /* of the values, for making the keys */
    uint64_t units;        /* for the rows, and for reading again */
};

/* ---- The budget --------------------------------------------------------- */

uint64_t plan_budget(const struct plan_base *base)
{
    enum {
        FOR_LARGER = 20
    }; /* units for each byte: to read it, to patch it
        * and to store it, and for some indexes */
    uint64_t larger = base->value_max > KX_VALUE_MAX_DEFAULT
                          ? base->value_max - KX_VALUE_MAX_DEFAULT
                          : 0;
    return KX_COMMIT_UNITS_MAX + FOR_LARGER * larger;
}

enum kx_status plan_afford(struct plan *plan)
{
    if (!charge_passed(&plan->charge))
        return KX_OK;
    return kx_fail(&plan_refusal(plan)->fault, KX_COMMIT_TOO_LARGE,
                   "the commit costs more than its budget of %" PRIu64
                   " units; nothing was changed",
                   plan->charge.most);
}

enum kx_status plan_pass_row(struct plan *plan, struct kx_slice bytes)
{
    charge_add(&plan->charge, 1, CHARGE_READ);
    charge_add(&plan->charge, bytes.size, CHARGE_PASSED);
    return plan_afford(plan);
}

/* ---- The bound ---------------------------------------------------------- */

struct plan_load plan_load_of(const struct plan_base *base)
{
    const struct catalog *catalog = base->catalog;
    struct plan_load load = {.catalog = catalog, .budget = plan_budget(base)};
    for (size_t i = 0; i < catalog->count; i++) {
        const struct declaration *declaration =
            catalog->indexes[i]->declaration;
        if (!index_maintained(catalog->indexes[i]))
            continue;
        load.plain += !declaration->has_each;
        load.each += declaration->has_each;
        load.paths += declaration->field_count + declaration->where_count +
                      declaration->stored_count + declaration->sum_count;
    }
    return load;
}

/* An upper bound on the cost of the entry. */
static uint64_t bound_of(const struct plan_load *load,
                         const struct record *record)
{
    uint64_t size = record->value.size;
    if (record->encoding == KX_V8)
        size *= V8_GROWTH;
    uint64_t elements = size / 2 + 1; /* a digit and a comma each */
    if (elements > KX_INDEX_ENTRIES_MAX)
        elements = KX_INDEX_ENTRIES_MAX;
    uint64_t rows = load->plain + load->each * elements;
    uint64_t row = CHARGE_ROW + CHARGE_READ + CHARGE_OPERATION +
                   CHARGE_STORED * (2 * KX_KEY_MAX + 2 * (ROW_HEAD + size));
    return CHARGE_ROW + CHARGE_STORED * (KX_KEY_MAX + size) + rows * row +
           load->paths * LEVELS * size * CHARGE_STORED;
}

/* ---- The cost ----------------------------------------------------------- */

/* The bytes of a row of the extraction, but for its key, in each of its forms.
 */
static enum kx_status bytes_of_row(struct extract *extract,
                                   const struct index *index, size_t *bytes_out)
{
    struct record row;
    const struct declaration *forms[] = {index->form.target,
                                         index->declaration};
    *bytes_out = 0;
    if (extract->count == 0)
        return KX_OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i] == NULL)
            continue;
        if (extract->declaration != forms[i])
            extract_as(extract, forms[i]);
        enum kx_status status = extract_record(extract, 0, index->id, &row);
        if (status != KX_OK)
            return status;
        *bytes_out +=
            ROW_HEAD + row.owner.size + row.media_type.size + row.value.size;
    }
    return KX_OK;
}

static bool keeps(const struct extract *other, struct kx_slice key)
{
    return other != NULL && extract_find(other, key) < other->count;
}

/* Index entries that go; a tombstone may take the place of each. */
static void add_removed(struct cost *cost, const struct index *index)
{
    const struct extract *before = cost->before;
    bool copies = index->declaration->store != STORE_POINTER;
    bool tombstones = index->declaration->tombstones_ms != 0;
    for (size_t n = 0; before != NULL && n < before->count; n++) {
        struct kx_slice key = extract_key(before, n);
        if (keeps(cost->now, key))
            continue;
        cost->units += CHARGE_ROW + CHARGE_READ;
        if (copies)
            cost->units += CHARGE_REMOVED * before->record->value.size;
        if (tombstones)
            cost->units +=
                CHARGE_ROW + CHARGE_STORED * (ROW_HEAD + 2 * key.size);
    }
}

/* Index entries that come, or are written again. */
static enum kx_status add_written(struct cost *cost, const struct index *index,
                                  bool same_row)
{
    size_t bytes = 0;
    enum kx_status status = bytes_of_row(cost->now, index, &bytes);
    for (size_t n = 0; n < cost->now->count; n++) {
        struct kx_slice key = extract_key(cost->now, n);
        cost->units += CHARGE_READ;
        if (!same_row || !keeps(cost->before, key))
            cost->units += CHARGE_ROW + CHARGE_STORED * (key.size + bytes);
    }
    return status;
}

/* Each key of either side changes the totals of a group. */
static void add_totals(struct cost *cost)
{
    size_t groups =
        cost->now->count + (cost->before != NULL ? cost->before->count : 0);
    size_t bytes = 2 * (ROW_HEAD + KX_KEY_MAX / 4);
    cost->units +=
        groups * (CHARGE_ROW + 2 * CHARGE_READ + CHARGE_STORED * bytes);
}

/* KX_NO_MEMORY; an entry that cannot be indexed has no keys. */
static enum kx_status make_keys(struct extract *extract,
                                const struct index *index, struct kx_slice key,
                                const struct record *record)
{
    extract->count = 0;
    if (record == NULL)
        return KX_OK;
    enum kx_status status =
        extract_keys(extract, index->declaration, key, record);
    return status == KX_NO_MEMORY ? status : KX_OK;
}

/* before and now: of the entry, or NULL. */
static enum kx_status add_index(struct cost *cost, const struct index *index,
                                struct kx_slice key,
                                const struct record *before,
                                const struct record *now)
{
    uint64_t read = cost->reading.spent;
    enum kx_status status = KX_OK;
    if (cost->before != NULL)
        status = make_keys(cost->before, index, key, before);
    if (status == KX_OK)
        status = make_keys(cost->now, index, key, now);
    if (status != KX_OK)
        return status;
    bool conflicts = index->conflicts > 0 && before != NULL;
    size_t passes = (before != NULL) + (now != NULL) + conflicts;
    cost->units += passes * (cost->reading.spent - read);
    if (declaration_aggregates(index->declaration)) {
        add_totals(cost);
        return KX_OK;
    }
    bool same_row = before != NULL && now != NULL &&
                    index->declaration->store == STORE_POINTER &&
                    index->state == KX_INDEX_READY &&
                    index->form.target == NULL &&
                    before->expires_at_ms == now->expires_at_ms;
    add_removed(cost, index);
    return add_written(cost, index, same_row);
}

static enum kx_status add_all(struct cost *cost, struct kx_slice key,
                              const struct record *before,
                              const struct record *now)
{
    const struct catalog *catalog = cost->catalog;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        if (index_maintained(index) &&
            declaration_covers(index->declaration, key) &&
            cost->units <= cost->reading.most)
            status = add_index(cost, index, key, before, now);
    }
    return status;
}

enum kx_status plan_cost_change(struct plan *plan, const struct change *change,
                                uint64_t *units_out)
{
    struct cost cost = {.catalog = plan->catalog,
                        .before = &plan->before,
                        .now = &plan->now,
                        .reading.most = plan->budget};
    struct record before;
    struct record now;
    bool had = plan_client_record(change->before, &before);
    bool has = plan_client_record(change->now, &now);
    plan->before.charge = plan->now.charge = &cost.reading;
    enum kx_status status =
        add_all(&cost, change->key, had ? &before : NULL, has ? &now : NULL);
    plan->before.charge = plan->now.charge = &plan->charge;
    charge_add(&plan->charge, cost.reading.spent, CHARGE_PASSED);
    *units_out = cost.units;
    return status;
}

enum kx_status plan_cost_entry(const struct plan_load *load,
                               struct extract *scratch, struct kx_slice key,
                               const struct record *record)
{
    struct cost cost = {
        .catalog = load->catalog, .now = scratch, .reading.most = load->budget};
    if (bound_of(load, record) <= load->budget)
        return KX_OK;
    struct charge *charge = scratch->charge;
    scratch->charge = &cost.reading;
    cost.units = CHARGE_ROW + CHARGE_READ +
                 CHARGE_STORED * (key.size + record->value.size);
    enum kx_status status = add_all(&cost, key, NULL, record);
    scratch->charge = charge;
    if (status != KX_OK)
        return status;
    return cost.units > load->budget ? KX_COMMIT_TOO_LARGE : KX_OK;
}

/* ---- Refusals of background work ----------------------------------------- */

/* The detail names the key last, because a long key is truncated. */
enum kx_status plan_refuse_entry(struct kx_fault *fault, void *mem,
                                 struct kx_slice key, struct kx_slice why)
{
    struct kx_buffer text;
    kx_buffer_init(&text, mem);
    kx_key_to_json(key, &text);
    return kx_fail(fault, KX_NOT_INDEXABLE,
                   "an entry cannot be indexed, because %.*s: %.*s",
                   (int)why.size, (const char *)why.data, (int)text.size,
                   (const char *)text.data);
}

enum kx_status plan_refuse_entry_cost(struct kx_fault *fault, void *mem,
                                      struct kx_slice key, uint64_t budget)
{
    char why[120];
    snprintf(why, sizeof why,
             "to store it with its index entries costs more than the %" PRIu64
             " units of a commit",
             budget);
    return plan_refuse_entry(fault, mem, key, kx_text(why));
}
