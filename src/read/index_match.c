/* Whether an index answers a question. Its fields are gone through in their
 * order: as long as the question says what they equal they make a prefix; the
 * next one can be compared with bounds; and from there on the entries come in
 * the order of the fields that are left, and then of their keys. */
#include "read/index_match.h"

#include <talloc.h>

/* An index and a question while they are compared. */
struct match {
    const struct declaration *index;
    const struct declaration *asked;
    struct kx_fit *fit;
    uint32_t used;        /* conditions that the bounds answer, by number */
    size_t equal;         /* fields that are compared with eq */
    struct kx_slice last; /* what the last of them must equal */
    bool ranged;          /* the next one has bounds */
    size_t sorted; /* fields and parts behind the equal ones that are asked for
                    * as order */
    bool partial;  /* conditions are answered by the index's own */
};

static void misfit(struct match *match, enum kx_misfit misfit)
{
    match->fit->misfits |= 1u << misfit;
}

/* ---- Bounds ------------------------------------------------------------- */

static bool is_about(const struct condition *condition,
                     const struct field *field)
{
    struct field subject = query_subject(condition);
    return query_same_place(&subject, field);
}

static bool is_equal(const struct condition *condition)
{
    return condition->comparison == WHERE_EQ && condition->values[0].size != 0;
}

/* Adds what the field must equal to the prefix; false when nothing says it. */
static bool take_equal(struct match *match, const struct field *field,
                       struct kx_buffer *prefix)
{
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (!is_equal(condition) || !is_about(condition, field))
            continue;
        if (condition->fold != field->fold) {
            misfit(match, KX_MISFIT_FOLDS);
            continue;
        }
        match->last = condition->values[0];
        kx_add_slice(prefix, match->last);
        match->used |= 1u << i;
        return true;
    }
    return false;
}

static void take_range(struct match *match, const struct field *field,
                       struct span *span)
{
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->where_count; i++) {
        const struct condition *condition = &asked->where[i];
        if (condition->comparison < WHERE_GT || !is_about(condition, field))
            continue;
        if (condition->fold != field->fold)
            misfit(match, KX_MISFIT_FOLDS);
        else if (field->each)
            misfit(match, KX_MISFIT_REPEATS);
        else if (match_bounds_narrow(span, condition)) {
            match->used |= 1u << i;
            match->ranged = true;
        }
    }
    match_bounds_close(span);
}

/* A bound follows the encoded parts that are equal. Without memory *failed is
 * set. */
static struct kx_slice join(void *mem, struct kx_slice prefix,
                            struct kx_slice part, bool *failed)
{
    struct kx_buffer whole;
    if (part.size == 0)
        return part;
    kx_buffer_init(&whole, mem);
    kx_add_slice(&whole, prefix);
    kx_add_slice(&whole, part);
    *failed |= whole.failed;
    return kx_buffer_slice(&whole);
}

static bool take_bounds(struct match *match, void *mem)
{
    const struct declaration *index = match->index;
    struct kx_fit *fit = match->fit;
    struct kx_buffer prefix;
    struct span span;
    kx_buffer_init(&prefix, mem);
    kx_buffer_init(&span.low, mem);
    kx_buffer_init(&span.high, mem);
    while (match->equal < index->field_count &&
           take_equal(match, &index->fields[match->equal], &prefix))
        match->equal++;
    if (match->equal < index->field_count)
        take_range(match, &index->fields[match->equal], &span);
    bool failed = prefix.failed || span.low.failed || span.high.failed;
    fit->prefix = kx_buffer_slice(&prefix);
    fit->start = join(mem, fit->prefix, kx_buffer_slice(&span.low), &failed);
    fit->end = join(mem, fit->prefix, kx_buffer_slice(&span.high), &failed);
    return !failed;
}

/* ---- Order -------------------------------------------------------------- */

/* The fields of an index that is not unique are followed by the parts of the
 * key. */
static struct field build_merge_at(const struct declaration *index, size_t n)
{
    if (n < index->field_count)
        return index->fields[n];
    return (struct field){.key_part = n - index->field_count + 1};
}

static bool is_fixed(const struct match *match, const struct field *field)
{
    for (size_t i = 0; i < match->equal; i++)
        if (query_same_field(&match->index->fields[i], field))
            return true;
    return false;
}

/* Do the conditions say that there is something that can be indexed at the
 * path? `each`: or elements that can. */
static bool is_said(const struct match *match, struct kx_slice path, bool each)
{
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->where_count; i++)
        if (asked->where[i].key_part == 0 && (each || !asked->where[i].each) &&
            kx_equal(asked->where[i].path, path) &&
            match_implied_needs_value(&asked->where[i]))
            return true;
    return false;
}

/* Has every entry asked for this field, whatever the order? Every covered key
 * has one part after the prefix. */
static bool is_given(const struct match *match, const struct field *field)
{
    if (field->key_part != 0)
        return field->key_part == 1 || field->key_part <= match->asked->depth;
    return is_said(match, field->path, false);
}

/* After all fields of a unique index nothing is left to be ordered, but entries
 * without a place in the order must not be among the results. After the fields
 * of another index come the parts of the key, also for entries that lack the
 * part that is asked for. */
static void check_order(struct match *match)
{
    const struct declaration *index = match->index;
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->field_count; i++) {
        size_t at = match->equal + match->sorted;
        struct field place = build_merge_at(index, at);
        bool alone = index->unique && at >= index->field_count;
        if (is_fixed(match, &asked->fields[i]) ||
            (alone && is_given(match, &asked->fields[i])))
            continue;
        bool lacking = at >= index->field_count && !is_given(match, &place);
        if (alone || lacking || !query_same_field(&asked->fields[i], &place)) {
            misfit(match, KX_MISFIT_ORDER);
            return;
        }
        match->sorted++;
    }
}

/* ---- What the index leaves out ------------------------------------------ */

/* To be ordered by a value an entry must have one. */
static bool is_ordered(const struct match *match, struct kx_slice path)
{
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->field_count; i++)
        if (asked->fields[i].key_part == 0 &&
            kx_equal(asked->fields[i].path, path))
            return true;
    return false;
}

static bool is_present(const struct match *match, const struct field *field)
{
    return is_given(match, field) ||
           (field->key_part == 0 && (is_ordered(match, field->path) ||
                                     match->index->missing == MISSING_ERROR));
}

static void check_fields(struct match *match)
{
    const struct declaration *index = match->index;
    for (size_t i = match->equal; i < index->field_count; i++) {
        const struct field *field = &index->fields[i];
        if (field->each)
            misfit(match, KX_MISFIT_REPEATS);
        if (i >= match->equal + match->sorted && !is_present(match, field))
            misfit(match, KX_MISFIT_LEAVES_OUT);
    }
}

/* Entries for which the index's own conditions do not hold must not be asked
 * for. */
static void check_where(struct match *match)
{
    const struct declaration *index = match->index;
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < index->where_count; i++) {
        const struct condition *own = &index->where[i];
        bool exists = own->comparison == WHERE_EXISTS && own->exists;
        if (!match_implied(asked->where, asked->where_count, own) &&
            !(exists && (is_said(match, own->path, true) ||
                         is_ordered(match, own->path))))
            misfit(match, KX_MISFIT_PARTIAL);
    }
}

static void check_prefix(struct match *match)
{
    struct kx_slice index = match->index->prefix;
    struct kx_slice asked = match->asked->prefix;
    if (!kx_starts_with(asked, index) && !kx_starts_with(index, asked)) {
        misfit(match, KX_MISFIT_OTHER_PREFIX);
        return;
    }
    if (index.size < asked.size)
        misfit(match, KX_MISFIT_COVERS_MORE);
    if (index.size > asked.size)
        misfit(match, KX_MISFIT_COVERS_LESS);
    if (match->index->depth != match->asked->depth)
        misfit(match, KX_MISFIT_OTHER_DEPTH);
}

/* ---- What is left for the client ---------------------------------------- */

/* An index has only entries with values of its fields. */
static bool exists_by_fields(const struct match *match,
                             const struct condition *condition)
{
    if (condition->comparison != WHERE_EXISTS || !condition->exists)
        return false;
    for (size_t i = 0; i < match->index->field_count; i++)
        if (match->index->fields[i].key_part == 0 &&
            kx_equal(match->index->fields[i].path, condition->path))
            return true;
    return false;
}

static bool is_answered(struct match *match, size_t n)
{
    const struct declaration *index = match->index;
    const struct declaration *asked = match->asked;
    const struct condition *condition = &asked->where[n];
    if ((match->used >> n & 1) != 0)
        return true;
    if (!match_implied_is_plain(condition))
        return false;
    bool own = match_implied(index->where, index->where_count, condition);
    match->partial |= own;
    if (own || exists_by_fields(match, condition))
        return true;
    for (size_t i = 0; i < asked->where_count; i++)
        if ((match->used >> i & 1) != 0 &&
            match_implied(&asked->where[i], 1, condition))
            return true;
    return false;
}

static void check_conditions(struct match *match)
{
    for (size_t i = 0; i < match->asked->where_count; i++)
        if (!is_answered(match, i))
            match->fit->left |= 1u << i;
    if (match->fit->left != 0)
        misfit(match, KX_MISFIT_CONDITIONS);
    const unsigned tried = 1u << KX_MISFIT_FOLDS | 1u << KX_MISFIT_REPEATS;
    if (match->equal == 0 && !match->ranged && match->sorted == 0 &&
        !match->partial && (match->fit->misfits & tried) == 0)
        misfit(match, KX_MISFIT_UNUSED);
}

/* Must the entries be read as well? */
static bool is_followed(const struct declaration *index,
                        const struct declaration *asked)
{
    if (index->store != STORE_FIELDS)
        return index->store == STORE_POINTER;
    for (size_t i = 0; i < asked->stored_count; i++)
        if (!declaration_stores(index, asked->stored[i]))
            return true;
    return asked->stored_count == 0;
}

/* ---- The whole ---------------------------------------------------------- */

/* What is longer than a key may be is in no index, and no key. */
static void check_room(struct match *match)
{
    const struct kx_fit *fit = match->fit;
    size_t room = KX_KEY_MAX - match->index->name_key.size;
    if (fit->prefix.size > room || fit->start.size > room ||
        fit->end.size > room)
        misfit(match, KX_MISFIT_LEAVES_OUT);
}

static enum kx_status compare(void *mem, struct match *match)
{
    if (!take_bounds(match, mem))
        return KX_NO_MEMORY;
    check_order(match);
    check_conditions(match);
    return KX_OK;
}

enum kx_status index_match_make(void *mem, const struct declaration *index,
                                const struct kx_question *question,
                                struct kx_fit *fit_out)
{
    struct match match = {
        .index = index, .asked = question->asked, .fit = fit_out};
    *fit_out = (struct kx_fit){.reverse = question->reverse};
    check_prefix(&match);
    if (fit_out->misfits == 1u << KX_MISFIT_OTHER_PREFIX)
        return KX_OK; /* nothing else matters */
    enum kx_status status = compare(mem, &match);
    check_room(&match);
    check_fields(&match);
    check_where(&match);
    fit_out->followed = is_followed(index, question->asked);
    return status;
}

/* A prefix of entries leaves out the key that has no more parts than it; bounds
 * do not. */
static bool include_key(void *mem, struct match *match)
{
    struct kx_fit *fit = match->fit;
    struct kx_buffer next;
    bool failed = false;
    if (match->equal == 0 || match->ranged)
        return true;
    kx_buffer_init(&next, mem);
    fit->start = fit->prefix;
    fit->prefix.size -= match->last.size;
    if (match_bounds_next_part(match->last, &next) ||
        match_bounds_next_type(match->last, &next))
        fit->end = join(mem, fit->prefix, kx_buffer_slice(&next), &failed);
    return !failed && !next.failed;
}

/* An index has only entries with all of its fields; these have any number of
 * parts. */
static void check_parts(struct match *match)
{
    const struct declaration *asked = match->asked;
    for (size_t i = 0; i < asked->field_count; i++)
        if (asked->fields[i].key_part != 0 &&
            !is_fixed(match, &asked->fields[i]) &&
            !is_given(match, &asked->fields[i]))
            misfit(match, KX_MISFIT_ORDER);
}

/* The entries are an index of their own, whose fields are the parts of the key.
 */
enum kx_status index_match_entries(void *mem,
                                   const struct kx_question *question,
                                   struct kx_fit *fit_out)
{
    struct declaration *keys = talloc_zero(mem, struct declaration);
    if (keys == NULL)
        return KX_NO_MEMORY;
    struct kx_slice prefix = question->asked->prefix;
    struct match match = {
        .index = keys, .asked = question->asked, .fit = fit_out};
    while (keys->field_count < KX_FIELDS_MAX) {
        size_t n = keys->field_count++;
        keys->fields[n].key_part = n + 1;
    }
    *fit_out = (struct kx_fit){.reverse = question->reverse};
    enum kx_status status = compare(mem, &match);
    check_parts(&match);
    bool failed = !include_key(mem, &match);
    fit_out->misfits &= ~(1u << KX_MISFIT_UNUSED);
    if (question->asked->depth != 0)
        misfit(&match, KX_MISFIT_OTHER_DEPTH);
    fit_out->start = join(mem, prefix, fit_out->start, &failed);
    fit_out->end = join(mem, prefix, fit_out->end, &failed);
    if (fit_out->prefix.size == 0)
        fit_out->prefix = prefix;
    else
        fit_out->prefix = join(mem, prefix, fit_out->prefix, &failed);
    check_room(&match);
    return failed ? KX_NO_MEMORY : status;
}
