/* The catalog in memory: named indexes in the order of their names, and dropped
 * ones. Both lists together have at most KX_INDEXES_MAX indexes, which
 * declare.c checks, so the arrays have room and a walk through them is short.
 * catalog_rows.c has the stored form. */
#include "catalog/catalog.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "rules/rule.h"

const char *kx_left_out_text(enum kx_left_out reason)
{
    static const char *const names[KX_LEFT_OUT_REASONS] = {
        [KX_LEFT_OUT_WHERE] = "where",
        [KX_LEFT_OUT_MISSING] = "missing",
        [KX_LEFT_OUT_TYPE] = "type",
        [KX_LEFT_OUT_SIZE] = "size",
        [KX_LEFT_OUT_EMPTY] = "empty"};
    return names[reason];
}

const char *kx_index_state_text(enum kx_index_state state)
{
    switch (state) {
    case KX_INDEX_BUILDING:
        return "building";
    case KX_INDEX_READY:
        return "ready";
    case KX_INDEX_CONFLICTED:
        return "conflicted";
    case KX_INDEX_MIGRATING:
        return "migrating";
    case KX_INDEX_DROPPING:
        return "dropping";
    case KX_INDEX_FAILED:
        return "failed";
    }
    return "";
}

const char *kx_rule_state_text(enum kx_index_state state)
{
    return state == KX_INDEX_BUILDING ? "checking" : kx_index_state_text(state);
}

const char *kx_adopted_text(enum kx_adopted kind)
{
    static const char *const texts[KX_ADOPTED_KINDS] = {
        [KX_KEPT] = "kept",
        [KX_REPLACED] = "mended",
        [KX_ADDED] = "added",
        [KX_REMOVED] = "removed",
    };
    return texts[kind];
}

/* Skips successors, which clients do not know yet. */
struct index *catalog_at(const struct catalog *catalog, size_t n)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->replaces == 0 && n-- == 0)
            return catalog->indexes[i];
    return NULL;
}

struct index *catalog_find(const struct catalog *catalog, struct kx_slice name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (kx_equal(catalog->indexes[i]->declaration->name, name))
            return catalog->indexes[i];
    return NULL;
}

struct index *catalog_rule(const struct catalog *catalog, struct kx_slice name)
{
    for (size_t i = 0; i < catalog->rule_count; i++)
        if (kx_equal(catalog->rules[i]->declaration->name, name))
            return catalog->rules[i];
    return NULL;
}

enum kx_status catalog_get(const struct catalog *catalog, struct kx_slice name,
                           struct index **index_out, struct kx_fault *fault)
{
    *index_out = catalog_find(catalog, name);
    if (*index_out != NULL)
        return KX_OK;
    return kx_fail(fault, KX_INDEX_ABSENT, "there is no index %.*s",
                   (int)name.size, (const char *)name.data);
}

struct index *catalog_named(const struct catalog *catalog,
                            struct kx_commit *commit)
{
    struct index *index;
    commit->status = catalog_get(catalog, commit->command.index_name, &index,
                                 &commit->refusal.fault);
    return index;
}

/* If FF follows the encoded name, the zero byte before FF is an escaped zero
 * and not the end of the name: the first part of the key is a longer string. */
bool catalog_is_under(struct kx_slice name_key, struct kx_slice key)
{
    return kx_starts_with(key, name_key) &&
           (key.size == name_key.size || key.data[name_key.size] != 0xff);
}

static bool is_under(const struct index *index, struct kx_slice key)
{
    return catalog_is_under(index->declaration->name_key, key);
}

bool catalog_ends_under(const struct index *index, struct kx_slice end)
{
    struct kx_slice name = index->declaration->name_key;
    return is_under(index, end) ||
           (kx_starts_with(end, name) && end.size == name.size + 1);
}

struct index *catalog_owner(const struct catalog *catalog, struct kx_slice key)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (is_under(catalog->indexes[i], key))
            return catalog->indexes[i];
    return NULL;
}

/* Clients have no entries under a dropped index's name, unless the index
 * adopted some when it was dropped, or a client has written one since. */
const struct index *catalog_sole_owner(const struct catalog *catalog,
                                       struct kx_slice key)
{
    const struct index *owner = catalog_owner(catalog, key);
    if (owner != NULL)
        return index_adopts(owner) ? NULL : owner;
    for (size_t i = 0; i < catalog->dropping_count; i++)
        if (!catalog->dropping[i]->reused &&
            is_under(catalog->dropping[i], key))
            return catalog->dropping[i];
    return NULL;
}

void catalog_note_written(struct catalog *catalog, struct kx_slice key)
{
    for (size_t i = 0; i < catalog->dropping_count; i++)
        if (is_under(catalog->dropping[i], key))
            catalog->dropping[i]->reused = true;
}

static bool has_target(const struct rule *rule, struct kx_slice key)
{
    size_t i = 0;
    while (i < rule->reference_count &&
           !rule_refers_to(&rule->references[i], key) &&
           !kx_starts_with(rule->references[i].to, key))
        i++;
    return i < rule->reference_count;
}

bool catalog_is_target(const struct catalog *catalog, struct kx_slice key,
                       bool unready)
{
    size_t n = 0;
    while (n < catalog->rule_count &&
           ((unready && catalog->rules[n]->state == KX_INDEX_READY) ||
            !has_target(catalog->rules[n]->declaration->rule, key)))
        n++;
    return n < catalog->rule_count;
}

size_t catalog_rows_per_change(const struct catalog *catalog)
{
    size_t rows = 1;
    for (size_t i = 0; i < catalog->count; i++)
        rows +=
            (catalog->indexes[i]->declaration->has_each ? KX_INDEX_ENTRIES_MAX
                                                        : 1) *
            (catalog->indexes[i]->declaration->tombstones_ms != 0 ? 2 : 1);
    return rows;
}

/* Index entries carry the id and not the name: a name can be declared again
 * while entries of the previous index are still being removed. */
struct index *catalog_by_id(const struct catalog *catalog, uint32_t id)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->id == id)
            return catalog->indexes[i];
    return NULL;
}

uint64_t catalog_row_count(const struct catalog *catalog)
{
    uint64_t rows = catalog->entries;
    for (size_t i = 0; i < catalog->count; i++)
        rows += catalog->indexes[i]->entries + catalog->indexes[i]->conflicts;
    for (size_t i = 0; i < catalog->rule_count; i++)
        rows += catalog->rules[i]->entries;
    for (size_t i = 0; i < catalog->dropping_count; i++)
        rows += catalog->dropping[i]->entries;
    return rows;
}

/* Clients do not see entries of a dropped index. */
bool catalog_shows(const struct catalog *catalog, const struct record *record,
                   int64_t now_ms)
{
    if (record_expired(record, now_ms))
        return false;
    if (record->index == 0)
        return true;
    const struct index *index = catalog_by_id(catalog, record->index);
    return index != NULL && index_shown(index) &&
           !index_row_hidden(index, record);
}

bool catalog_show(const struct catalog *catalog, struct record *record,
                  int64_t now_ms)
{
    catalog_pick_row(catalog, record);
    if (!catalog_shows(catalog, record, now_ms))
        return false;
    if (record->index != 0)
        row_form_show(catalog_by_id(catalog, record->index), record);
    return true;
}

struct index *catalog_successor(const struct catalog *catalog,
                                const struct index *index)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->replaces == index->id)
            return catalog->indexes[i];
    return NULL;
}

/* ---- Rows of two indexes (row_form.h) ----------------------------------- */

static bool is_declared(const struct catalog *catalog, uint32_t id)
{
    const struct index *index = catalog_by_id(catalog, id);
    return index != NULL && index->replaces == 0;
}

void catalog_pick_row(const struct catalog *catalog, struct record *row)
{
    struct record inner;
    if (row_form_inner(row, &inner))
        row_form_of(row, is_declared(catalog, inner.index) ? inner.index
                                                           : row->index);
}

/* Returns whether a row belongs to another index that is not dropped. The row
 * becomes the form that this index shows: rows keep no second form while
 * another index is built. */
static bool is_of_other(const struct catalog *catalog,
                        const struct index *index, struct record *row)
{
    const struct index *other = catalog_by_id(catalog, row->index);
    if (other == NULL || other == index)
        return false;
    row_form_pick(other, row);
    row->other = kx_slice(NULL, 0);
    return true;
}

static bool find_other(const struct catalog *catalog, const struct index *index,
                       struct kx_slice stored, struct record *row_out)
{
    struct record inner;
    if (!record_read(stored, row_out))
        return false;
    bool two = row_form_inner(row_out, &inner);
    if (is_of_other(catalog, index, row_out))
        return true;
    if (!two)
        return false;
    *row_out = inner;
    return is_of_other(catalog, index, row_out);
}

enum kx_status catalog_join(const struct catalog *catalog,
                            const struct index *index, struct kx_slice stored,
                            struct kx_slice *bytes, struct kx_buffer *joined)
{
    struct record mine;
    struct record other;
    if (!find_other(catalog, index, stored, &other))
        return KX_OK;
    kx_buffer_clear(joined);
    if (record_read(*bytes, &mine))
        row_form_write_both(&mine, &other, joined);
    else
        record_write(&other, joined);
    *bytes = kx_buffer_slice(joined);
    return joined->failed ? KX_NO_MEMORY : KX_OK;
}

/* ---- The lists ---------------------------------------------------------- */

bool catalog_shares_rows(const struct catalog *catalog,
                         const struct index *index)
{
    return index->replaces != 0 || catalog_successor(catalog, index) != NULL;
}

static void insert(struct index **list, size_t *count, struct index *index)
{
    struct kx_slice name = index->declaration->name;
    size_t at = *count;
    while (at > 0 && kx_compare(list[at - 1]->declaration->name, name) > 0)
        at--;
    memmove(&list[at + 1], &list[at], (*count - at) * sizeof(struct index *));
    list[at] = index;
    (*count)++;
}

void catalog_add(struct catalog *catalog, struct index *index)
{
    index->usage.since_ms = kx_now_ms();
    talloc_steal(catalog, index);
    if (index->declaration->rule != NULL)
        insert(catalog->rules, &catalog->rule_count, index);
    else
        insert(catalog->indexes, &catalog->count, index);
}

static bool take_out(struct index **list, size_t *count, struct index *index)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i] != index)
            continue;
        memmove(&list[i], &list[i + 1],
                (*count - i - 1) * sizeof(struct index *));
        (*count)--;
        return true;
    }
    return false;
}

void catalog_drop(struct catalog *catalog, struct index *index)
{
    take_out(catalog->indexes, &catalog->count, index);
    take_out(catalog->rules, &catalog->rule_count, index);
    index->reused = index_adopts(index);
    index->state = KX_INDEX_DROPPING;
    catalog->dropping[catalog->dropping_count++] = talloc_steal(catalog, index);
}

void catalog_forget(struct catalog *catalog, struct index *index)
{
    take_out(catalog->dropping, &catalog->dropping_count, index);
    talloc_free(index);
}
